"""Writes the three messy CSV files beside it. Same seed, same bytes."""
import csv, datetime, io, os, random

here = os.path.dirname(os.path.abspath(__file__))
day0 = datetime.date(2025, 1, 1)


def write(name, text, encoding):
    with open(os.path.join(here, name), "w", encoding=encoding, newline="") as f:
        f.write(text)


def orders(r):
    out = io.StringIO()
    w = csv.writer(out, lineterminator="\r\n")
    w.writerow(["Order ID", " Order Date", "Customer ", "Region", "Status", "Qty", "Amount", "Amount ", "Notes"])
    for i in range(200):
        d = day0 + datetime.timedelta(days=r.randrange(365))
        date = [d.isoformat(), d.strftime("%d.%m.%Y"), f"{d.day} {d:%b %Y}"][r.choice([0, 0, 0, 1, 2])]
        if r.random() < .04:
            date = ""
        cents = r.randrange(1500, 480000)
        net, tax = f"${cents / 100:,.2f}", f"${cents * 0.2 / 100:,.2f}"
        if r.random() < .06:
            net = tax = ""
        note = r.choice(["", "", "", "call first", "gift, wrap it", "two parcels\nsecond one later", 'says "urgent"'])
        w.writerow([f"A{1001 + i}", date, r.choice(["Alder Ltd", "Birch & Sons", "Cedar, Inc.", "Dogwood GmbH", "Elm SA"]),
                    r.choice(["North", "North", "South", "East", "West", ""]),
                    r.choice(["paid", "paid", "paid", "open", "cancelled"]), r.choice(["", *range(1, 13)]), net, tax, note])
    write("orders.csv", out.getvalue(), "utf-8-sig")


def spending(r):
    def de(cents):
        return f"{cents / 100:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")
    out = io.StringIO()
    w = csv.writer(out, delimiter=";", lineterminator="\n")
    w.writerow(["Datum", "Abteilung", "Kategorie", "Betrag", "Stückzahl", "Bemerkung"])
    for i in range(60):
        d = day0 + datetime.timedelta(days=i * 6)
        w.writerow([d.strftime("%d.%m.%Y"), r.choice(["Einkauf", "Vertrieb", "Küche", "IT"]),
                    r.choice(["Reise", "Büro", "Geräte"]), "" if i in (7, 31) else de(r.randrange(900, 350000)),
                    r.randrange(1, 9), r.choice(["", "", "geprüft", "Rückfrage; siehe Mail", "Teil 1\nTeil 2"])])
    write("spending.csv", out.getvalue(), "cp1252")


def visits(r):
    out = io.StringIO()
    w = csv.writer(out, lineterminator="\n")
    w.writerow(["visit", "Store Name", "store name ", "Started", "Minutes", "Spent (EUR)", "Rating", "Member", "Comment"])
    stores = {"Oslo": "NO-1", "Lyon": "FR-1", "Porto": "PT-1", "Ghent": "BE-1", "Zürich": "CH-1", "New York": "US-1"}
    for i in range(500):
        s = r.choice(list(stores))
        t = datetime.datetime(2025, 3, 1) + datetime.timedelta(minutes=r.randrange(92 * 24 * 60))
        spent = "" if r.random() < .1 else f"€{r.randrange(100, 250000) / 100:,.2f}"
        w.writerow([i + 1, s, stores[s], t.strftime("%Y-%m-%d %H:%M"), r.choice(["", *range(3, 95)]), spent,
                    r.choice(["1", "2", "3", "4", "5", "5", "n/a", ""]), r.choice(["yes", "no", "Yes", "NO"]),
                    r.choice(["", "", "queue, long", "good\n\nwill return", 'asked for "blue"'])])
    write("visits.csv", out.getvalue(), "utf-8-sig")


orders(random.Random(11))
spending(random.Random(22))
visits(random.Random(33))
