"""Writes cases.json: calendars, and what happens in them within a time.

The answers are those of recurring-ical-events, which reads with icalendar and expands rules with python-dateutil.

    pip install icalendar recurring-ical-events python-dateutil
    python answers.py          # writes cases.json
    python answers.py check    # compares
"""

import datetime as dt
import json
import pathlib
import random
import sys
import warnings
from zoneinfo import ZoneInfo

import icalendar
import recurring_ical_events
from dateutil.rrule import rrulestr

warnings.simplefilter("ignore")
FILE = pathlib.Path(__file__).with_name("cases.json")
FORM = "%Y%m%dT%H%M%S"
CASES = []


def event(lines, uid="a"):
    return f"BEGIN:VEVENT\nUID:{uid}\nDTSTAMP:20260101T000000Z\n{lines.strip()}\nEND:VEVENT\n"


def case(name, text, begin, days, zone="Europe/Berlin"):
    """Adds a case. Begin is a date in the zone of the reader."""
    if not text.startswith("BEGIN"):
        text = event(text)
    CASES.append({"name": name, "zone": zone, "from": begin, "days": days, "text": text})


def stamp(value, zone):
    if not isinstance(value, dt.datetime):
        return value.strftime("%Y%m%d")
    if value.tzinfo is None:
        value = value.replace(tzinfo=zone)
    return value.astimezone(dt.timezone.utc).strftime(FORM) + "Z"


def answer(c):
    """Returns the events as start/end title, in UTC; a date for whole days."""
    text = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//test//EN\n" + c["text"] + "END:VCALENDAR\n"
    zone = ZoneInfo(c["zone"])
    begin = dt.datetime.strptime(c["from"], "%Y%m%d").replace(tzinfo=zone)
    end = (begin.replace(tzinfo=None) + dt.timedelta(days=c["days"])).replace(tzinfo=zone)
    try:
        calendar = icalendar.Calendar.from_ical(text.replace("\n", "\r\n"))
        found = recurring_ical_events.of(calendar, keep_recurrence_attributes=False).between(begin, end)
        out = []
        for e in found:
            if str(e.get("STATUS", "")).upper() == "CANCELLED":
                continue  # the library leaves these to its caller
            start, stop = e["DTSTART"].dt, e["DTEND"].dt if "DTEND" in e else e.end
            out.append(f"{stamp(start, zone)}/{stamp(stop, zone)} {e.get('SUMMARY', '')}".strip())
        return sorted(out)
    except Exception as err:  # noqa: BLE001 - what the library can not read is an answer too
        return [f"error: {type(err).__name__}"]


def rfc_examples():
    """The examples of RFC 5545, 3.8.5.3, all of which begin in New York in 1997 or 1998."""
    day = "DTSTART;TZID=America/New_York:19970902T090000\n"
    for name, rule, begin, days in [
        ("daily for 10", day + "RRULE:FREQ=DAILY;COUNT=10", "19970901", 30),
        ("daily until", day + "RRULE:FREQ=DAILY;UNTIL=19971224T000000Z", "19971215", 20),
        ("every other day", day + "RRULE:FREQ=DAILY;INTERVAL=2", "19971020", 14),
        ("every 10 days", day + "RRULE:FREQ=DAILY;INTERVAL=10;COUNT=5", "19970901", 90),
        ("each day in January", "DTSTART;TZID=America/New_York:19980101T090000\nRRULE:FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA", "20000120", 30),
        ("each day in January, daily", "DTSTART;TZID=America/New_York:19980101T090000\nRRULE:FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1", "20000120", 30),
        ("weekly for 10", day + "RRULE:FREQ=WEEKLY;COUNT=10", "19970901", 90),
        ("weekly until", day + "RRULE:FREQ=WEEKLY;UNTIL=19971224T000000Z", "19971201", 40),
        ("every other week", day + "RRULE:FREQ=WEEKLY;INTERVAL=2;WKST=SU", "19971001", 90),
        ("tuesday and thursday", day + "RRULE:FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH", "19970901", 60),
        ("every other week on three days", "DTSTART;TZID=America/New_York:19970901T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR", "19971001", 100),
        ("every other week on two days", day + "RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH", "19970901", 90),
        ("first friday", "DTSTART;TZID=America/New_York:19970905T090000\nRRULE:FREQ=MONTHLY;COUNT=10;BYDAY=1FR", "19970901", 400),
        ("first friday until", "DTSTART;TZID=America/New_York:19970905T090000\nRRULE:FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR", "19970901", 200),
        ("first and last sunday", "DTSTART;TZID=America/New_York:19970907T090000\nRRULE:FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU", "19970901", 400),
        ("second to last monday", "DTSTART;TZID=America/New_York:19970922T090000\nRRULE:FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "19970901", 400),
        ("third to last day", "DTSTART;TZID=America/New_York:19970928T090000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=-3", "19970901", 200),
        ("2nd and 15th", day + "RRULE:FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15", "19970901", 300),
        ("first and last day", "DTSTART;TZID=America/New_York:19970930T090000\nRRULE:FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1", "19970901", 300),
        ("10th to 15th every 18 months", "DTSTART;TZID=America/New_York:19970910T090000\nRRULE:FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15", "19970901", 600),
        ("tuesdays every other month", day + "RRULE:FREQ=MONTHLY;INTERVAL=2;BYDAY=TU", "19971001", 150),
        ("June and July", "DTSTART;TZID=America/New_York:19970610T090000\nRRULE:FREQ=YEARLY;COUNT=10;BYMONTH=6,7", "19970601", 1600),
        ("every other year, three months", "DTSTART;TZID=America/New_York:19970310T090000\nRRULE:FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3", "19970101", 2300),
        ("days of the year, every third year", "DTSTART;TZID=America/New_York:19970101T090000\nRRULE:FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200", "19970101", 3700),
        ("20th monday", "DTSTART;TZID=America/New_York:19970519T090000\nRRULE:FREQ=YEARLY;BYDAY=20MO", "19970101", 1000),
        ("monday of week 20", "DTSTART;TZID=America/New_York:19970512T090000\nRRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "19970101", 1000),
        ("thursdays in March", "DTSTART;TZID=America/New_York:19970313T090000\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=TH", "19970101", 800),
        ("thursdays in summer", "DTSTART;TZID=America/New_York:19970605T090000\nRRULE:FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8", "19980601", 60),
        ("friday the 13th", day + "EXDATE;TZID=America/New_York:19970902T090000\nRRULE:FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "19970901", 1200),
        ("first saturday after a sunday", "DTSTART;TZID=America/New_York:19970913T090000\nRRULE:FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13", "19970901", 300),
        ("election day", "DTSTART;TZID=America/New_York:19961105T090000\nRRULE:FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", "19960101", 4000),
        ("third of tuesday to thursday", "DTSTART;TZID=America/New_York:19970904T090000\nRRULE:FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "19970901", 200),
        ("second to last weekday", "DTSTART;TZID=America/New_York:19970929T090000\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "19970901", 250),
        ("every 3 hours", day + "RRULE:FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z", "19970901", 4),
        ("every 15 minutes", day + "RRULE:FREQ=MINUTELY;INTERVAL=15;COUNT=6", "19970901", 4),
        ("every hour and a half", day + "RRULE:FREQ=MINUTELY;INTERVAL=90;COUNT=4", "19970901", 4),
        ("every 20 minutes by day", day + "RRULE:FREQ=DAILY;BYHOUR=9,10,11;BYMINUTE=0,20,40", "19970902", 1),
        ("every 20 minutes", day + "RRULE:FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11", "19970902", 1),
        ("weeks that begin on monday", "DTSTART;TZID=America/New_York:19970805T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "19970801", 60),
        ("weeks that begin on sunday", "DTSTART;TZID=America/New_York:19970805T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "19970801", 60),
        ("an invalid date is skipped", "DTSTART;TZID=America/New_York:20070115T090000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "20070101", 200),
    ]:
        case("RFC 5545: " + name, rule + "\nDURATION:PT1H", begin, days, "America/New_York")


ZONE = """BEGIN:VTIMEZONE
TZID:Nowhere
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE
"""

# A zone that changed its clocks on certain dates, and for the last time in 2026.
DATES = """BEGIN:VTIMEZONE
TZID:Dates
BEGIN:STANDARD
DTSTART:20241027T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RDATE:20251026T030000,20261025T030000
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:20240331T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RDATE:20250330T020000
RDATE:20260329T020000
END:DAYLIGHT
END:VTIMEZONE
"""


def zones():
    """Clocks that go forward (a gap) and back (a fold), in several zones, for rules and for single times."""
    for zone, gap, fold in [
        ("Europe/Berlin", "20260329", "20261025"), ("America/New_York", "20260308", "20261101"),
        ("Australia/Lord_Howe", "20261004", "20260405"), ("America/Santiago", "20260906", "20260405"),
        ("Pacific/Auckland", "20260927", "20260405"), ("Asia/Kolkata", "20260329", "20261025"),
    ]:
        for what, date in ("gap", gap), ("fold", fold):
            before = (dt.datetime.strptime(date, "%Y%m%d") - dt.timedelta(days=1)).strftime("%Y%m%d")
            for at in "003000", "013000", "023000", "120000":
                case(f"{zone}: {what}, daily at {at}", f"DTSTART;TZID={zone}:{before}T{at}\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=4", before, 6, zone)
            case(f"{zone}: {what}, a single time", f"DTSTART;TZID={zone}:{date}T023000\nDURATION:PT45M", before, 4)
            case(f"{zone}: {what}, a day long", f"DTSTART;TZID={zone}:{before}T120000\nDURATION:P1D", before, 4)
            case(f"{zone}: {what}, 24 hours long", f"DTSTART;TZID={zone}:{before}T120000\nDURATION:PT24H", before, 4)
            case(f"{zone}: {what}, ends by DTEND", f"DTSTART;TZID={zone}:{before}T220000\nDTEND;TZID={zone}:{date}T060000\nRRULE:FREQ=DAILY;COUNT=3", before, 6)
            case(f"{zone}: {what}, floating", f"DTSTART:{before}T093000\nDTEND:{before}T100000\nRRULE:FREQ=DAILY;COUNT=3", before, 6, zone)
            case(f"{zone}: {what}, all day", f"DTSTART;VALUE=DATE:{before}\nRRULE:FREQ=DAILY;COUNT=3", before, 6, zone)
    for name in ["W. Europe Standard Time", "Eastern Standard Time", "India Standard Time", "Romance Standard Time", "AUS Eastern Standard Time", "Tokyo Standard Time", "Pacific Standard Time", "GMT Standard Time"]:
        case(f"Windows: {name}", f"DTSTART;TZID={name}:20261020T140000\nDTEND;TZID={name}:20261020T150000\nRRULE:FREQ=WEEKLY;COUNT=3", "20261019", 30)
    for zone, text in ("Nowhere", ZONE), ("Dates", DATES):
        for at in "20260120T140000", "20260720T140000", "20261024T140000", "20260328T140000":
            case(f"described zone {zone}: {at}", text + event(f"DTSTART;TZID={zone}:{at}\nDTEND;TZID={zone}:{at[:9]}150000\nRRULE:FREQ=DAILY;COUNT=3"), at[:8], 5)
    case("two zones", "DTSTART;TZID=Europe/Berlin:20261020T140000\nDTEND;TZID=America/New_York:20261020T100000", "20261019", 7)
    case("a quoted zone", 'DTSTART;TZID="America/New_York":20261020T140000\nDURATION:PT1H', "20261019", 7)


def parts():
    """RDATE, EXDATE, UNTIL, DURATION and whole days."""
    base = "DTSTART;TZID=Europe/Berlin:20261019T100000\nDURATION:PT1H\n"
    utc = "DTSTART:20261019T080000Z\nDURATION:PT1H\n"
    day = "DTSTART;VALUE=DATE:20261019\n"
    for name, text in [
        ("RDATE", base + "RDATE;TZID=Europe/Berlin:20261023T100000,20261021T120000"),
        ("RDATE in UTC", base + "RDATE:20261023T080000Z"),
        ("RDATE in UTC after the clocks changed", base + "RDATE:20261028T090000Z"),
        ("RDATE beside a rule", base + "RRULE:FREQ=DAILY;COUNT=2\nRDATE;TZID=Europe/Berlin:20261023T100000"),
        ("RDATE that a rule has too", base + "RRULE:FREQ=DAILY;COUNT=3\nRDATE;TZID=Europe/Berlin:20261020T100000"),
        ("RDATE before the start", base + "RRULE:FREQ=DAILY;COUNT=2\nRDATE;TZID=Europe/Berlin:20261018T100000"),
        ("RDATE in another zone", base + "RDATE;TZID=America/New_York:20261023T100000"),
        ("two RDATEs", base + "RDATE;TZID=Europe/Berlin:20261023T100000\nRDATE;TZID=Europe/Berlin:20261024T100000"),
        ("RDATE with a period to a time", utc + "RDATE;VALUE=PERIOD:20261021T100000Z/20261021T130000Z"),
        ("RDATE with a period that lasts", utc + "RDATE;VALUE=PERIOD:20261021T100000Z/PT30M"),
        ("RDATE of whole days", day + "RDATE;VALUE=DATE:20261023,20261025"),
        ("EXDATE", base + "RRULE:FREQ=DAILY;COUNT=4\nEXDATE;TZID=Europe/Berlin:20261020T100000"),
        ("EXDATE in UTC", base + "RRULE:FREQ=DAILY;COUNT=4\nEXDATE:20261020T080000Z"),
        ("EXDATE in another zone", base + "RRULE:FREQ=DAILY;COUNT=4\nEXDATE;TZID=America/New_York:20261020T040000"),
        ("EXDATE of several", base + "RRULE:FREQ=DAILY;COUNT=6\nEXDATE;TZID=Europe/Berlin:20261020T100000,20261022T100000\nEXDATE;TZID=Europe/Berlin:20261024T100000"),
        ("EXDATE of the first", base + "RRULE:FREQ=DAILY;COUNT=3\nEXDATE;TZID=Europe/Berlin:20261019T100000"),
        ("EXDATE of nothing", base + "RRULE:FREQ=DAILY;COUNT=3\nEXDATE;TZID=Europe/Berlin:20261020T110000"),
        ("EXDATE of an RDATE", base + "RDATE;TZID=Europe/Berlin:20261023T100000,20261024T100000\nEXDATE;TZID=Europe/Berlin:20261023T100000"),
        ("EXDATE of all", base + "RRULE:FREQ=DAILY;COUNT=2\nEXDATE;TZID=Europe/Berlin:20261019T100000,20261020T100000"),
        ("EXDATE of a whole day", day + "RRULE:FREQ=DAILY;COUNT=4\nEXDATE;VALUE=DATE:20261020"),
        ("EXDATE with a date, for times", base + "RRULE:FREQ=DAILY;COUNT=4\nEXDATE;VALUE=DATE:20261020"),
        ("EXDATE floating", "DTSTART:20261019T100000\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=4\nEXDATE:20261020T100000"),
        ("UNTIL in UTC, included", base + "RRULE:FREQ=DAILY;UNTIL=20261022T080000Z"),
        ("UNTIL in UTC, a second too early", base + "RRULE:FREQ=DAILY;UNTIL=20261022T075959Z"),
        ("UNTIL in UTC over the change of clocks", base + "RRULE:FREQ=DAILY;UNTIL=20261027T090000Z"),
        ("UNTIL in UTC over the change, too early", base + "RRULE:FREQ=DAILY;UNTIL=20261027T080000Z"),
        ("UNTIL of a UTC event", utc + "RRULE:FREQ=DAILY;UNTIL=20261022T080000Z"),
        ("UNTIL floating", "DTSTART:20261019T100000\nDURATION:PT1H\nRRULE:FREQ=DAILY;UNTIL=20261022T100000"),
        ("UNTIL floating, too early", "DTSTART:20261019T100000\nDURATION:PT1H\nRRULE:FREQ=DAILY;UNTIL=20261022T095959"),
        ("UNTIL local, beside a zone", base + "RRULE:FREQ=DAILY;UNTIL=20261022T100000"),
        ("UNTIL of whole days", day + "RRULE:FREQ=DAILY;UNTIL=20261022"),
        ("UNTIL of whole days, weekly", day + "RRULE:FREQ=WEEKLY;BYDAY=MO,TH;UNTIL=20261029"),
        ("UNTIL a date, for times", base + "RRULE:FREQ=DAILY;UNTIL=20261022"),
        ("UNTIL a time, for whole days", day + "RRULE:FREQ=DAILY;UNTIL=20261022T000000Z"),
        ("UNTIL before the start", base + "RRULE:FREQ=DAILY;UNTIL=20261018T000000Z"),
        ("DURATION of weeks", "DTSTART;TZID=Europe/Berlin:20261019T100000\nDURATION:P1W"),
        ("DURATION of days and hours", "DTSTART;TZID=Europe/Berlin:20261024T100000\nDURATION:P1DT2H30M\nRRULE:FREQ=DAILY;COUNT=3"),
        ("DURATION of a day, recurring", "DTSTART;TZID=Europe/Berlin:20261023T100000\nDURATION:P1D\nRRULE:FREQ=DAILY;COUNT=4"),
        ("DURATION of 24 hours, recurring", "DTSTART;TZID=Europe/Berlin:20261023T100000\nDURATION:PT24H\nRRULE:FREQ=DAILY;COUNT=4"),
        ("DURATION with seconds", "DTSTART:20261020T100000Z\nDURATION:PT1M30S"),
        ("DURATION of whole days", day + "DURATION:P3D"),
        ("DURATION of whole days, recurring", day + "DURATION:P2D\nRRULE:FREQ=WEEKLY;COUNT=3"),
        ("DURATION in another zone than the reader's", "DTSTART;TZID=America/New_York:20261031T120000\nDURATION:P1D"),
        ("DTEND recurring over the change", "DTSTART;TZID=Europe/Berlin:20261023T220000\nDTEND;TZID=Europe/Berlin:20261024T060000\nRRULE:FREQ=DAILY;COUNT=3"),
        ("no end", "DTSTART:20261020T100000Z"),
        ("no end, whole day", "DTSTART;VALUE=DATE:20261020"),
        ("several whole days", "DTSTART;VALUE=DATE:20261018\nDTEND;VALUE=DATE:20261021"),
        ("whole days, recurring", "DTSTART;VALUE=DATE:20261018\nDTEND;VALUE=DATE:20261020\nRRULE:FREQ=WEEKLY;COUNT=3"),
        ("whole day on the first day asked", "DTSTART;VALUE=DATE:20261019"),
        ("whole day before the first day asked", "DTSTART;VALUE=DATE:20261018"),
        ("birthday", "DTSTART;VALUE=DATE:19561024\nRRULE:FREQ=YEARLY"),
        ("29 February", "DTSTART;VALUE=DATE:20240229\nRRULE:FREQ=YEARLY"),
        ("floating", "DTSTART:20261020T140000\nDTEND:20261020T150000"),
        ("going on at the start", "DTSTART:20261018T220000\nDTEND:20261019T020000"),
        ("ended at the start", "DTSTART:20261018T220000\nDTEND:20261019T000000"),
        ("begins at the end", "DTSTART:20261108T000000\nDTEND:20261108T010000"),
        ("cancelled", "DTSTART:20261020T140000\nSTATUS:CANCELLED\nDURATION:PT1H"),
        ("since 1970", "DTSTART:19700101T080000\nDURATION:PT1H\nRRULE:FREQ=MONTHLY;BYDAY=3WE"),
        ("an event that is long and recurs", "DTSTART:20260105T080000Z\nDURATION:P10D\nRRULE:FREQ=MONTHLY;BYMONTHDAY=12"),
        ("hourly", "DTSTART;TZID=Europe/Berlin:20261019T080000\nDURATION:PT10M\nRRULE:FREQ=HOURLY;INTERVAL=6;COUNT=9"),
        ("hourly, over the change", "DTSTART;TZID=Europe/Berlin:20261024T200000\nDURATION:PT10M\nRRULE:FREQ=HOURLY;INTERVAL=5;COUNT=5"),
        ("lower case", "dtstart;value=date:20261019\nrrule:freq=daily;count=2"),
    ]:
        case(name, text, "20261019", 20)


def replaced():
    """RECURRENCE-ID, also for the occurrences that follow."""
    for form, start, at in [
        ("zone", "DTSTART;TZID=Europe/Berlin:{}T100000", ";TZID=Europe/Berlin:{}T100000"),
        ("UTC", "DTSTART:{}T080000Z", ":{}T080000Z"),
        ("floating", "DTSTART:{}T100000", ":{}T100000"),
        ("zone by UTC", "DTSTART;TZID=Europe/Berlin:{}T100000", ":{}T080000Z"),
    ]:
        master = event(start.format("20261019") + "\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=5\nSUMMARY:x")
        one = start.format("20261020").replace("T100000", "T160000").replace("T080000", "T140000")

        def other(lines, day="20261020", extra=""):
            return event(f"RECURRENCE-ID{extra}{at.format(day)}\n{lines}\nSUMMARY:y")

        case(f"replaced ({form}): moved", master + other(one + "\nDURATION:PT30M"), "20261019", 14)
        case(f"replaced ({form}): moved out of the time", master + other(start.format("20261120") + "\nDURATION:PT30M"), "20261019", 14)
        case(f"replaced ({form}): moved into the time", master + other(start.format("20261220") + "\nDURATION:PT30M"), "20261218", 5)
        case(f"replaced ({form}): before the event in the file", other(one + "\nDURATION:PT30M") + master, "20261019", 14)
        case(f"replaced ({form}): cancelled", master + other(start.format("20261020") + "\nDURATION:PT1H\nSTATUS:CANCELLED"), "20261019", 14)
        case(f"replaced ({form}): two of them", master + other(one + "\nDURATION:PT30M") + other(start.format("20261024") + "\nDURATION:PT30M", "20261022"), "20261019", 14)
        case(f"replaced ({form}): the newer version", master + other(one + "\nDURATION:PT30M\nSEQUENCE:2") + other(start.format("20261024") + "\nDURATION:PT30M\nSEQUENCE:1"), "20261019", 14)
        case(f"replaced ({form}): without its event", other(one + "\nDURATION:PT30M"), "20261019", 14)
        case(f"replaced ({form}): this and those that follow, moved", master + other(start.format("20261021").replace("T100000", "T113000").replace("T080000", "T093000") + "\nDURATION:PT2H", "20261021", ";RANGE=THISANDFUTURE"), "20261019", 14)
        case(f"replaced ({form}): this and those that follow, renamed", master + other(start.format("20261021") + "\nDURATION:PT1H", "20261021", ";RANGE=THISANDFUTURE"), "20261019", 14)
        case(f"replaced ({form}): those that follow, and one of them", master
             + other(start.format("20261021") + "\nDURATION:PT1H", "20261021", ";RANGE=THISANDFUTURE")
             + event(f"RECURRENCE-ID{at.format('20261022')}\n{start.format('20261022').replace('T100000', 'T200000').replace('T080000', 'T180000')}\nDURATION:PT1H\nSUMMARY:z"), "20261019", 14)
    day = event("DTSTART;VALUE=DATE:20261019\nRRULE:FREQ=DAILY;COUNT=4\nSUMMARY:x")
    case("replaced (days): moved", day + event("RECURRENCE-ID;VALUE=DATE:20261020\nDTSTART;VALUE=DATE:20261028\nSUMMARY:y"), "20261019", 14)
    case("replaced (days): cancelled", day + event("RECURRENCE-ID;VALUE=DATE:20261020\nDTSTART;VALUE=DATE:20261020\nSTATUS:CANCELLED\nSUMMARY:y"), "20261019", 14)
    case("replaced (days): those that follow", day + event("RECURRENCE-ID;RANGE=THISANDFUTURE;VALUE=DATE:20261021\nDTSTART;VALUE=DATE:20261022\nSUMMARY:y"), "20261019", 14)
    case("replaced (days): by a time", day + event("RECURRENCE-ID;VALUE=DATE:20261020\nDTSTART:20261020T100000Z\nDURATION:PT1H\nSUMMARY:y"), "20261019", 14)


DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


def some(r, low, high, most, negative=False):
    out = set()
    for _ in range(r.randint(1, most)):
        n = r.randint(low, high)
        out.add(-n if negative and r.random() < 0.4 else n)
    return ",".join(str(n) for n in sorted(out))


def random_rule(r):
    freq = r.choice(["YEARLY", "YEARLY", "MONTHLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY"])
    parts = {"FREQ": freq}
    if r.random() < 0.5:
        parts["INTERVAL"] = str(r.randint(2, 4))
    if r.random() < 0.3:
        parts["WKST"] = r.choice(DAYS)
    if freq == "YEARLY":
        kind = r.choice(["month", "monthday", "yearday", "weekno", "nth", "day", "monthnth"])
        if kind in ("month", "monthday", "monthnth", "day"):
            parts["BYMONTH"] = some(r, 1, 12, 3)
        if kind == "monthday":
            parts["BYMONTHDAY"] = some(r, 1, 31, 3, True)
        if kind == "yearday":
            parts["BYYEARDAY"] = some(r, 1, 366, 4, True)
        if kind == "weekno":
            parts["BYWEEKNO"] = some(r, 1, 53, 3, True)
            parts["BYDAY"] = ",".join(r.sample(DAYS, r.randint(1, 3)))
        if kind == "nth":
            parts["BYDAY"] = ",".join(f"{r.choice([1, 2, 10, 20, 52, 53, -1, -2, -53])}{d}" for d in r.sample(DAYS, r.randint(1, 2)))
        if kind == "monthnth":
            parts["BYDAY"] = ",".join(f"{r.choice([1, 2, 4, 5, -1, -2, -5])}{d}" for d in r.sample(DAYS, r.randint(1, 2)))
        if kind == "day":
            parts["BYDAY"] = ",".join(r.sample(DAYS, r.randint(1, 3)))
    if freq == "MONTHLY":
        kind = r.choice(["monthday", "nth", "day", "both", "plain"])
        if kind in ("monthday", "both"):
            parts["BYMONTHDAY"] = some(r, 1, 31, 4, True)
        if kind == "nth":
            parts["BYDAY"] = ",".join(f"{r.choice([1, 2, 3, 4, 5, -1, -2, -5])}{d}" for d in r.sample(DAYS, r.randint(1, 3)))
        if kind in ("day", "both"):
            parts["BYDAY"] = ",".join(r.sample(DAYS, r.randint(1, 4)))
        if r.random() < 0.2:
            parts["BYMONTH"] = some(r, 1, 12, 6)
    if freq == "WEEKLY" and r.random() < 0.8:
        parts["BYDAY"] = ",".join(r.sample(DAYS, r.randint(1, 4)))
    if freq == "DAILY":
        if r.random() < 0.3:
            parts["BYDAY"] = ",".join(r.sample(DAYS, r.randint(1, 4)))
        if r.random() < 0.3:
            parts["BYMONTH"] = some(r, 1, 12, 6)
        if r.random() < 0.3:
            parts["BYMONTHDAY"] = some(r, 1, 31, 5, True)
    if freq == "HOURLY":
        parts["INTERVAL"] = str(r.randint(5, 40))
        if r.random() < 0.4:
            parts["BYDAY"] = ",".join(r.sample(DAYS, r.randint(1, 4)))
    if freq != "HOURLY" and r.random() < 0.2:
        parts["BYHOUR"] = some(r, 0, 23, 2)
    if r.random() < 0.15:
        parts["BYMINUTE"] = some(r, 0, 59, 2)
    if freq in ("YEARLY", "MONTHLY", "WEEKLY") and any(k in parts for k in ("BYDAY", "BYMONTHDAY", "BYYEARDAY")) and r.random() < 0.35:
        parts["BYSETPOS"] = some(r, 1, 4, 2, True)
    return ";".join(f"{k}={v}" for k, v in parts.items())


def generated():
    """Rules at random. Each begins at its first match, since RFC 5545 leaves other starts undefined."""
    r = random.Random(5545)
    n = 0
    while n < 180:
        rule = random_rule(r)
        base = dt.datetime(2024, r.randint(1, 12), r.randint(1, 28), r.randint(0, 23), r.choice([0, 30]))
        try:
            start = next(iter(rrulestr("RRULE:" + rule, dtstart=base).xafter(base, count=1, inc=True)), None)
        except ValueError:
            continue
        if start is None or start.year > 2028:
            continue
        again = rrulestr("RRULE:" + rule, dtstart=start)
        if next(iter(again.xafter(start, count=1, inc=True)), None) != start:
            continue  # another start moves its periods
        end = r.random()
        if end < 0.3:
            rule += f";COUNT={r.randint(2, 30)}"
        elif end < 0.5:
            rule += ";UNTIL=" + (start + dt.timedelta(days=r.randint(10, 900))).strftime(FORM) + "Z"
        zone = r.choice(["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
        first = start + dt.timedelta(days=r.choice([-3, 20, 200, 900]))
        days = {"YEARLY": 500, "MONTHLY": 150, "WEEKLY": 40, "DAILY": 30, "HOURLY": 8}[rule.split(";")[0].split("=")[1]]
        c = {"text": event(f"DTSTART;TZID={zone}:{start.strftime(FORM)}\nDURATION:PT1H\nRRULE:{rule}"), "zone": zone, "from": first.strftime("%Y%m%d"), "days": days}
        found = answer(c)
        if len(found) > 25 or not found and r.random() < 0.8:
            continue
        n += 1
        CASES.append({"name": f"generated {n}: {rule}", **c})


def main():
    rfc_examples()
    zones()
    parts()
    replaced()
    generated()
    names = [c["name"] for c in CASES]
    assert len(set(names)) == len(names), [n for n in names if names.count(n) > 1]
    for c in CASES:
        c["found"] = answer(c)
    text = "[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in CASES) + "\n]\n"
    if sys.argv[1:] == ["check"]:
        same = FILE.read_text() == text
        print(len(CASES), "cases", "are the same" if same else "DIFFER")
        sys.exit(not same)
    FILE.write_text(text)
    print(len(CASES), "cases")


if __name__ == "__main__":
    main()
