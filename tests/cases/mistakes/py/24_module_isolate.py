import statistics
import asyncio

task = asyncio.create_task(asyncio.sleep(0))
await task
return statistics.mean([1, 2])
