import { hackerNews } from "tools";

const ids = await hackerNews.topStories();
const items = await Promise.all(ids.slice(0, 20).map((id) => hackerNews.item({ id })));

const stories = items
  .filter((item) => item !== null)
  .filter((item) => item.type === "story" && !item.dead)
  .sort((a, b) => (b.score ?? 0) - (a.score ?? 0))
  .slice(0, 5);

return stories.map((story) => ({
  title: story.title,
  points: story.score ?? 0,
  comments: story.descendants ?? 0,
  host: story.url ? new URL(story.url).hostname : "news.ycombinator.com",
}));
