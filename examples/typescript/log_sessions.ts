type Event = { at: string; user: string; path: string };

const events: Event[] = (input as string).trim().split("\n").map((line) => {
  const [at, user, path] = line.split(/\s+/);
  return { at, user, path };
});

// A session ends when a user is away for more than half an hour.
const gap = 30 * 60 * 1000;
const sessions = new Map<string, { start: number; end: number; paths: Set<string> }[]>();
for (const event of events.toSorted((a, b) => a.at.localeCompare(b.at))) {
  const at = Date.parse(event.at);
  const own = sessions.get(event.user) ?? [];
  const last = own.at(-1);
  if (last && at - last.end <= gap) {
    last.end = at;
    last.paths.add(event.path);
  } else {
    own.push({ start: at, end: at, paths: new Set([event.path]) });
  }
  sessions.set(event.user, own);
}

return Object.fromEntries(
  [...sessions].map(([user, own]) => [user, own.map((one) => ({ minutes: (one.end - one.start) / 60_000, paths: one.paths, start: new Date(one.start) }))]),
);
