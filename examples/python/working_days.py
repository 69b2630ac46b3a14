from datetime import date, timedelta

holidays = await nager_date.public_holidays(year=2026, country_code="DE")
free = {day["date"] for day in holidays if day["global"]}

first, last = date(2026, 4, 1), date(2026, 5, 31)
working = 0
skipped = []
day = first
while day <= last:
    if day.weekday() < 5:
        if day.isoformat() in free:
            skipped.append(day)
        else:
            working += 1
    day += timedelta(days=1)

{"working_days": working, "holidays_on_weekdays": skipped, "last": last}
