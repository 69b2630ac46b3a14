import { openMeteo } from "tools";

const cities = input as string[];

async function outlook(name: string) {
  const { results } = await openMeteo.geocode({ name, count: 1 });
  const place = results?.[0];
  if (!place) return { city: name, problem: "not found" };
  const { daily } = await openMeteo.forecast({
    latitude: place.latitude,
    longitude: place.longitude,
    daily: ["temperature_2m_max", "precipitation_sum"],
    timezone: place.timezone ?? "auto",
    forecast_days: 3,
  });
  const warmest = Math.max(...(daily?.temperature_2m_max ?? []).map((value) => value ?? -Infinity));
  const rain = (daily?.precipitation_sum ?? []).reduce<number>((sum, value) => sum + (value ?? 0), 0);
  return { city: place.name, warmest, rain_mm: Math.round(rain * 10) / 10 };
}

const outlooks = await Promise.all(cities.map(outlook));
const known = outlooks.filter((one) => !("problem" in one)) as { city: string; warmest: number; rain_mm: number }[];
known.sort((a, b) => a.rain_mm - b.rain_mm || b.warmest - a.warmest);
return { best: known[0].city, table: known, problems: outlooks.filter((one) => "problem" in one) };
