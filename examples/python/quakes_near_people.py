import asyncio
from tools import ToolError, nominatim, usgs_earthquakes

feed = await usgs_earthquakes.feed(magnitude="4.5", period="day")
strong = sorted(feed["features"], key=lambda quake: -(quake["properties"]["mag"] or 0))[:4]


async def where(quake):
    lon, lat, depth = quake["geometry"]["coordinates"]
    try:
        place = await nominatim.reverse(lat=lat, lon=lon, zoom=10)
    except ToolError as error:
        return "open sea" if "Unable to geocode" in error.message else f"no address ({error.status})"
    return place["display_name"]


places = await asyncio.gather(*[where(quake) for quake in strong])
for quake, place in zip(strong, places):
    print(f"{quake['properties']['mag']:.1f}  {place}")
return [
    {"id": quake["id"], "magnitude": quake["properties"]["mag"], "depth_km": quake["geometry"]["coordinates"][2], "near": place}
    for quake, place in zip(strong, places)
]
