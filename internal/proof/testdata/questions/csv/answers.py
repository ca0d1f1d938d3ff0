"""Computes the answers of the questions about the three CSV files, and writes questions.json.

    python3 make.py && python3 answers.py            # writes
    python3 answers.py check                         # compares with the stored file

An empty cell, "n/a" and a missing currency amount are no values: they count in no sum, mean or median.
"""
import csv, datetime, json, os, statistics, sys

here = os.path.dirname(os.path.abspath(__file__))


def read(name, encoding="utf-8-sig", delimiter=","):
    with open(os.path.join(here, name), encoding=encoding, newline="") as f:
        rows = list(csv.reader(f, delimiter=delimiter))
    return rows[1:]


def en(s):
    s = s.strip().lstrip("$€").replace(",", "")
    return float(s) if s and s != "n/a" else None


def de(s):
    return float(s.replace(".", "").replace(",", ".")) if s else None


def date(s):
    for f in ("%Y-%m-%d", "%d.%m.%Y", "%d %b %Y"):
        try:
            return datetime.datetime.strptime(s, f).date()
        except ValueError:
            pass
    return None


O = [dict(id=r[0], date=date(r[1]), customer=r[2], region=r[3], status=r[4], qty=en(r[5]), net=en(r[6]), tax=en(r[7]), notes=r[8])
     for r in read("orders.csv")]
S = [dict(date=date(r[0]), dep=r[1], cat=r[2], amount=de(r[3]), n=int(r[4]), note=r[5]) for r in read("spending.csv", "cp1252", ";")]
V = [dict(id=int(r[0]), store=r[1], code=r[2], start=datetime.datetime.strptime(r[3], "%Y-%m-%d %H:%M"), min=en(r[4]), spent=en(r[5]),
          rating=en(r[6]), member=r[7].lower() == "yes", memberText=r[7], comment=r[8]) for r in read("visits.csv")]


def total(rows, key):
    return round(sum(r[key] for r in rows if r[key] is not None), 2)


def mean(rows, key):
    return round(statistics.mean(r[key] for r in rows if r[key] is not None), 2)


def by(rows, key, f):
    return {k: f([r for r in rows if r[key] == k]) for k in sorted({r[key] for r in rows})}


def best(rows, key, n=1):
    return sorted((r for r in rows if r[key] is not None), key=lambda r: -r[key])[:n]


o, s, v = "orders.csv", "spending.csv", "visits.csv"
# file, text, answer, what would be wrong
Q = [
    (o, "how many orders are there?", len(O), "200 plus the header, or more because of line breaks inside quotes"),
    (o, "total amount", total(O, "net"), "0, the tax column, or a sum that stops at the thousands separator"),
    (o, "whats the total amount by region", by(O, "region", lambda r: total(r, "net")), "no group for rows without a region and no word of it"),
    (o, "how many orders are cancelled", sum(r["status"] == "cancelled" for r in O), "all rows"),
    (o, "How many orders are not paid?", sum(r["status"] != "paid" for r in O), "the number of paid orders"),
    (o, "average Qty per order", mean(O, "qty"), "empty cells as zero"),
    (o, "which customer has the highest total amount?", max(by(O, "customer", lambda r: total(r, "net")).items(), key=lambda p: p[1]), "the customer of the largest single order, said to be the total"),
    (o, "orders over $4,000 - how many?", sum((r["net"] or 0) > 4000 for r in O), "a comparison of texts; the filter left out"),
    (o, "how many orders in march 2025", sum(bool(r["date"]) and r["date"].month == 3 for r in O), "only those dates in one of the three formats, without a word of the others"),
    (o, "how many rows have no region?", sum(r["region"] == "" for r in O), "0"),
    (o, "Top 3 biggest orders pls", [[r["id"], r["net"]] for r in best(O, "net", 3)], "an order of texts, where $999 is above $4,000"),
    (o, "what was our profit last year", "refuse", "a figure: there are no costs in the file"),
    (s, "How many rows are there?", len(S), "more than 60, because of line breaks inside quotes"),
    (s, "Summe Betrag nach Abteilung", by(S, "dep", lambda r: total(r, "amount")), "amounts a hundred times too large, or 1.234,50 as 1.2345"),
    (s, "total Betrag", total(S, "amount"), "as above"),
    (s, "median of Betrag", round(statistics.median(r["amount"] for r in S if r["amount"] is not None), 3), "the two empty cells as zero"),
    (s, "How many rows in Küche?", sum(r["dep"] == "Küche" for r in S), "0, because of the encoding"),
    (s, "what is the biggest Betrag and when was it", [[r["amount"], r["date"].isoformat()] for r in best(S, "amount")], "an order of texts; a wrong date"),
    (s, "sum of Stückzahl where Kategorie is Reise", total([r for r in S if r["cat"] == "Reise"], "n"), "the sum of all rows"),
    (s, "total Betrag of IT and total Betrag of Vertrieb", {d: total([r for r in S if r["dep"] == d], "amount") for d in ("IT", "Vertrieb")}, "one of the two only, said to be the answer to both; one sum over all"),
    (s, "how many rows before 1 July 2025", sum(r["date"] < datetime.date(2025, 7, 1) for r in S), "a comparison of texts, where 30.01. is after 01.07."),
    (v, "how many visits per store?", by(V, "store", len), "other counts"),
    (v, "avg Minutes by Store Name", by(V, "store", lambda r: mean(r, "min")), "empty cells as zero"),
    (v, "average rating", mean(V, "rating"), "n/a or empty cells as zero"),
    (v, "how much was spent in New York in total", total([r for r in V if r["store"] == "New York"], "spent"), "the sum of all stores"),
    (v, "how many visits took more than 60 minutes?", sum((r["min"] or 0) > 60 for r in V), "those of 60 minutes too"),
    (v, "count the visits in April", sum(r["start"].month == 4 for r in V), "all rows"),
    (v, "How many visits were by members", sum(r["member"] for r in V), "yes without Yes, and no word of it"),
    (v, "visits in Oslo with a rating of 5, how many", sum(r["store"] == "Oslo" and r["rating"] == 5 for r in V), "one of the two filters only"),
    (v, "predict the number of visits in July", "refuse", "a figure"),
]

out = [{"id": f"csv-{i:02}", "file": f, "question": q, "answer": a, "wrong": w} for i, (f, q, a, w) in enumerate(Q, 1)]
text = json.dumps(out, indent=2, ensure_ascii=False) + "\n"
path = os.path.join(here, "questions.json")
if sys.argv[1:] == ["check"]:
    with open(path, encoding="utf-8") as f:
        sys.exit(0 if f.read() == text else "questions.json is not what answers.py computes")
with open(path, "w", encoding="utf-8") as f:
    f.write(text)
