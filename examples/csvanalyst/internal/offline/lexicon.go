package offline

import "strings"

// A kind of tokens.
type kind int

const (
	unknown kind = iota // no word of the rules, and perhaps a value that the prompt does not list
	filler              // without a meaning here
	changer             // changes the meaning of a question in a way that the rules do not know
	columnName
	valueName
	quotation
	numeral
	period
	mark        // the end of a sentence
	joint       // and, or
	rowNoun     // a word for the rows: orders
	function    // total, how many
	superlative // the highest
	first       // first 5
	comparison  // more than
	afterwards  // stands behind a number: or more
	negation    // not, without
	unit        // month
	verb        // says which kind of answer is wanted: compare, describe, list
	back        // stands for rows that were named before
)

// A meaning is what a phrase of English says to the rules.
type meaning struct {
	kind  kind
	op    string // the function, operator or period in the words of the tools; the verb
	order int    // of a superlative: 1 for the highest values first, or -1
	about aspect // the columns that a superlative is about
}

// An aspect is a kind of columns.
type aspect int

const (
	anything aspect = iota
	rows            // no column: the most orders
	money
	dated
)

// lexicon has the phrases of the rules.
var lexicon = dictionary(map[meaning]string{
	{kind: function, op: "count_distinct"}: "how many different|how many distinct|how many unique|number of different|number of distinct|number of unique|distinct|unique|different",
	{kind: function, op: "avg"}:            "average|averages|mean|avg",
	{kind: function, op: "median"}:         "median",
	{kind: function, op: "stddev"}:         "standard deviation|stddev",
	{kind: function, op: "sum"}:            "total|totals|sum|how much",
	{kind: function, op: "count"}:          "how many|how often|how many times|number of|the number|total number of|total count|total count of|count|count of",

	{kind: superlative, order: 1}:                "highest|largest|biggest|greatest|top|maximum|max",
	{kind: superlative, order: -1}:               "lowest|smallest|bottom|minimum|min",
	{kind: superlative, order: 1, about: rows}:   "most|most common|most frequent|most popular|most often|most frequently",
	{kind: superlative, order: -1, about: rows}:  "fewest|least|least common|least often|least frequently",
	{kind: superlative, order: 1, about: money}:  "most expensive|priciest|costliest",
	{kind: superlative, order: -1, about: money}: "cheapest|least expensive",
	{kind: superlative, order: 1, about: dated}:  "latest|newest|most recent",
	{kind: superlative, order: -1, about: dated}: "earliest",
	{kind: first}: "first",

	{kind: comparison, op: "gt"}:      "greater than|more than|larger than|higher than|bigger than|longer than|later than|above|over|exceeding|after|>",
	{kind: comparison, op: "lt"}:      "less than|lower than|fewer than|smaller than|shorter than|earlier than|cheaper than|below|under|before|<",
	{kind: comparison, op: "ge"}:      "at least|no less than|not less than|greater than or equal to|more than or equal to|since|>=",
	{kind: comparison, op: "le"}:      "at most|no more than|not more than|less than or equal to|up to|until|<=",
	{kind: comparison, op: "between"}: "between",
	{kind: afterwards, op: "ge"}:      "or more|or higher|or above",
	{kind: afterwards, op: "le"}:      "or less|or lower|or fewer|or below",

	{kind: negation}:              "not|no|non|without|except|excluding|other than|but not|isn't|aren't|wasn't|weren't|don't|doesn't|didn't|hasn't|haven't|lacking|!=|<>",
	{kind: negation, op: "empty"}: "empty|missing|blank",

	{kind: unit, op: "day"}:     "day|days|daily|date",
	{kind: unit, op: "month"}:   "month|months|monthly",
	{kind: unit, op: "quarter"}: "quarter|quarters|quarterly",
	{kind: unit, op: "year"}:    "year|years|yearly|annual|annually",

	{kind: verb, op: "compare"}:  "compare|comparison|difference|difference between",
	{kind: verb, op: "list"}:     "show|list|display|print|find|search|search for|look for",
	{kind: verb, op: "describe"}: "describe|columns|fields|statistics|stats|summary|summarise|summarize|overview|structure|schema|what is in it|what is in the file|what is in this file|what's in it|what's in the file|what's in this file",

	{kind: joint, op: "and"}:    "and|&|,|what about|how about|and what about|and how about",
	{kind: joint, op: "or"}:     "or|nor",
	{kind: joint, op: "versus"}: "vs|versus|compared to|compared with",
	{kind: mark}:                ".|?|!|;",
	{kind: back}:                "them|these|those|they|their|it",

	{kind: filler}:  "=|==|is in it|in total|altogether|overall",
	{kind: changer}: "if|unless|as of",
})

func init() {
	for w := range fillers {
		lexicon[w] = meaning{kind: filler}
	}
	for w := range changers {
		lexicon[w] = meaning{kind: changer}
	}
}

// dictionary turns lists of phrases around.
func dictionary(phrases map[meaning]string) map[string]meaning {
	out := map[string]meaning{}
	for m, list := range phrases {
		for text := range strings.SplitSeq(list, "|") {
			out[text] = m
		}
	}
	return out
}

// fillers are words without a meaning of their own here.
var fillers = set(`a an the of in on at for to from with by is are was were be been do does did has have had having which what whats who whose who's that this
	there its me my i you we us our your please pls thanks can could would will tell give
	all each every any also then so data table csv sheet file files dataset much many how where as cell cells ok okay hi value values named called
	about took take takes taking get got made make makes per across single exactly just want need know like see compute calculate column where's what's what're
	only answer question work works working live lives located based belong belongs exist exists happened placed ones thank equals equal being`)

// changers are never names of values.
var changers = set(`why when last next previous prior ago today yesterday tomorrow now current currently recently than more less predict forecast trend change
	percent percentage share ratio growth correlation week weekly half both instead rest other others remaining same twice double but either neither`)

// articles are fillers that are not noted as the word before a token.
var articles = set("a an the single all")

// groupWords ask for groups of the next word.
var groupWords = set("by per each every which what across")

// fileNouns are words for the rows of any file.
var fileNouns = set("row record entry line item order sale transaction purchase")

// costs are words for the only column of money: "products that cost more than 5". Of spendings and incomes, each needs a
// column that is not of the other.
var (
	costs     = set("cost costs costing worth price priced prices")
	spendings = set("spend spends spent spending")
	incomes   = set("earn earns earning earned")
	spent     = set("cost expense expenditure spending fee price")
	earned    = set("revenue turnover income earning profit salary wage")
)
