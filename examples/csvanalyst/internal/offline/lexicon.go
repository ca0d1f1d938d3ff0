package offline

// What the rules know of English.

// fillers are words without a meaning of their own here.
var fillers = set(`a an the of in on at for to from with by is are was were be been do does did has have had which what whats who whose that this
	there its these those them they their me my i you we us our your please pls thanks can could would will tell give show list display print and
	all each every any also then so it data table csv sheet file files dataset much many how where as cell cells ok okay hi value values named called
	about took take takes taking get got made make makes overall together altogether just want need know like see compute calculate column where's what're
	only answer question work works working live lives located based belong belongs exist exists happened placed ones thank`)

// rowNouns are words for the rows of any file.
var rowNouns = set("row record entry line item order sale transaction purchase")

// changers change the meaning of a question in ways that the rules do not know, so they are never names of values.
var changers = set(`why last next previous prior ago today yesterday tomorrow now current currently recently if unless not no non without except excluding
	or nor neither either but than more less predict forecast trend change percent percentage share ratio growth versus correlation week weekly half
	both instead rest other others remaining same twice double first`)

// functions are phrases for figures.
var functions = map[string]string{
	"how many different": "count_distinct", "how many distinct": "count_distinct", "how many unique": "count_distinct", "number of different": "count_distinct",
	"number of distinct": "count_distinct", "number of unique": "count_distinct", "distinct": "count_distinct", "unique": "count_distinct", "different": "count_distinct",
	"standard deviation": "stddev", "stddev": "stddev", "average": "avg", "averages": "avg", "mean": "avg", "avg": "avg", "median": "median",
	"total": "sum", "totals": "sum", "sum": "sum", "how much": "sum", "altogether": "sum", "in total": "sum", "how many": "count", "number of": "count",
	"the number": "count", "total number of": "count", "total count": "count", "total count of": "count",
	"average number of": "average number", "average count of": "average number", "count": "count", "count of": "count",
	"max": "max", "maximum": "max", "min": "min", "minimum": "min",
}

// superlatives say which end of an order is meant: 1 for the highest values.
var superlatives = map[string]superlative{
	"highest": {order: 1}, "largest": {order: 1}, "biggest": {order: 1}, "greatest": {order: 1}, "top": {order: 1}, "maximum": {order: 1}, "max": {order: 1},
	"lowest": {order: -1}, "smallest": {order: -1}, "bottom": {order: -1}, "minimum": {order: -1}, "min": {order: -1},
	"most": {order: 1, many: true}, "fewest": {order: -1, many: true}, "least": {order: -1, many: true},
	"most common": {order: 1, many: true}, "most frequent": {order: 1, many: true}, "most popular": {order: 1, many: true}, "least common": {order: -1, many: true},
	"most expensive": {order: 1, by: money}, "priciest": {order: 1, by: money}, "costliest": {order: 1, by: money},
	"cheapest": {order: -1, by: money}, "least expensive": {order: -1, by: money},
	"latest": {order: 1, by: dated}, "newest": {order: 1, by: dated}, "most recent": {order: 1, by: dated},
	"earliest": {order: -1, by: dated},
}

// A superlative is one of these words: many counts rows, and by is the kind of column that it is about.
type superlative struct {
	order int
	many  bool
	by    kind
}

// A kind of columns.
type kind int

const (
	anyKind kind = iota
	money
	dated
)

// comparisons are phrases for operators.
var comparisons = map[string]string{
	"greater than or equal to": "ge", "more than or equal to": "ge", "less than or equal to": "le", "greater than": "gt", "more than": "gt", "larger than": "gt", "higher than": "gt",
	"bigger than": "gt", "longer than": "gt", "later than": "gt", "less than": "lt", "lower than": "lt", "fewer than": "lt", "smaller than": "lt", "shorter than": "lt", "earlier than": "lt",
	"cheaper than": "lt", "at least": "ge", "no less than": "ge", "no more than": "le", "not more than": "le", "not less than": "ge", "at most": "le", "up to": "le",
	"starts with": "starts_with", "starting with": "starts_with", "that start with": "starts_with", "contains": "contains", "containing": "contains", "that contain": "contains",
	"above": "gt", "over": "gt", "exceeding": "gt", "after": "gt", "since": "ge", "below": "lt", "under": "lt", "before": "lt", "until": "le", "between": "between",
	">=": "ge", "<=": "le", "!=": "ne", "<>": "ne", ">": "gt", "<": "lt", "=": "eq", "==": "eq", "equals": "eq", "equal to": "eq",
	"is not": "ne", "is": "eq", "are": "eq", "was": "eq", "isn't": "ne", "not": "ne",
}

// afterwards stand behind a number: "5 or more".
var afterwards = map[string]string{"or more": "ge", "or higher": "ge", "or above": "ge", "or less": "le", "or lower": "le", "or fewer": "le", "or below": "le"}

// negations turn a value around, or say that a column is empty.
var negations = set("not no non without except excluding isn't aren't wasn't weren't don't doesn't didn't hasn't haven't missing lacking nor")

// emptiness are phrases after a column.
var emptiness = map[string]string{
	"is empty": "empty", "is missing": "empty", "is blank": "empty", "are empty": "empty", "are missing": "empty", "empty": "empty", "missing": "empty", "blank": "empty",
	"is not empty": "not_empty", "is not missing": "not_empty", "is not blank": "not_empty", "not empty": "not_empty", "isn't empty": "not_empty", "is known": "not_empty",
}

// light are words between a column or a negation and the word that they belong to.
var light = set("is are was were be been of than that which has have had value values a an the any in from by for made with does do did being their its :")

// periodsOf are the words for periods.
var periodsOf = map[string]string{
	"day": "day", "days": "day", "daily": "day", "date": "day", "month": "month", "months": "month", "monthly": "month",
	"quarter": "quarter", "quarters": "quarter", "quarterly": "quarter", "year": "year", "years": "year", "yearly": "year", "annual": "year", "annually": "year",
}

// verbs say which kind of answer is wanted.
var verbs = map[string]string{
	"compare": "compare", "comparison": "compare", "versus": "compare", "vs": "compare", "difference": "compare", "difference between": "compare", "compared to": "compare",
	"search": "search", "search for": "search", "find": "search", "look for": "search", "mention": "search", "mentions": "search",
	"describe": "describe", "columns": "describe", "fields": "describe", "statistics": "describe", "stats": "describe", "summary": "describe", "summarise": "describe",
	"summarize": "describe", "overview": "describe", "structure": "describe", "schema": "describe", "what is in the file": "describe", "what is in it": "describe", "what is in this file": "describe",
	"whats in the file": "describe", "what's in the file": "describe", "whats in it": "describe", "what's in it": "describe", "whats in this file": "describe",
	"show": "list", "list": "list", "display": "list", "print": "list",
}

// intents begin a question of its own after "and".
var intents = set("how what which show list describe compare count total sum average avg mean median top number find whats highest lowest maximum minimum max min")
