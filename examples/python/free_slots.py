def minutes(text):
    hours, rest = text.split(":")
    return int(hours) * 60 + int(rest)


def clock(total):
    return f"{total // 60:02d}:{total % 60:02d}"


busy = sorted((minutes(start), minutes(end)) for person in input["busy"].values() for start, end in person)
merged = []
for start, end in busy:
    if merged and start <= merged[-1][1]:
        merged[-1] = (merged[-1][0], max(merged[-1][1], end))
    else:
        merged.append((start, end))

free = []
at = minutes(input["from"])
for start, end in merged + [(minutes(input["to"]), minutes(input["to"]))]:
    if start - at >= input["minutes"]:
        free.append([clock(at), clock(start)])
    at = max(at, end)

free
