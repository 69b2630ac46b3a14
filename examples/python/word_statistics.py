import re
from collections import Counter

text = input
words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text.lower())
sentences = [part for part in re.split(r"[.!?]+\s*", text) if part.strip()]
counts = Counter(words)
longest = max(words, key=lambda word: (len(word), word))


async def main():
    return {
        "words": len(words),
        "distinct": len(counts),
        "sentences": len(sentences),
        "longest": longest,
        "common": sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3],
    }
