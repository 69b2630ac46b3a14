import json as j, statistics, os.path
from asyncio import gather, TaskGroup
import statistics as again

def each(rows):
    for row in rows:
        yield row

return list(each([again.mean([1, 2])]))
