from datetime import datetime, timedelta, timezone
from tools import github
issue = await github.issues_get(owner="o", repo="r", number=1)
made = datetime.fromisoformat(issue["created_at"].replace("Z", "+00:00"))
age = datetime.now(timezone.utc) - made
return {"days": age.days, "old": age > timedelta(days=30)}
