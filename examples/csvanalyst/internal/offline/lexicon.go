package offline

import "strings"

// A kind classifies a token.
type kind int

const (
	unknown kind = iota // no word of the rules; it may be a value that the prompt does not list
	clash               // a value that may also be something else
	filler              // without a meaning of its own
	columnName
	valueName
	quotation
	numeral
	period
	rowNoun     // a word for the rows: orders
	mark        // the end of a sentence
	joint       // and, or
	function    // total, how many
	recount     // count them
	superlative // the highest
	first       // first 5
	which       // which customer has the highest ...
	comparison  // more than 5
	timing      // before March 2025
	negation    // not paid
	absence     // no region
	grouping    // by city
	unit        // by month
	list
	compare
	describe
	back // refers to the rows of the previous question
)

// A meaning is the meaning of an English phrase for the rules.
type meaning struct {
	kind  kind
	op    string // the function, operator or period in the words of the tools
	order int    // of a superlative: 1 for the highest values first, or -1
	money bool   // of a superlative: it is about a column of money
}

// lexicon maps the phrases of the rules to their meanings. Names of the file, numbers, dates and quotations need no
// entry. The rules refuse every other word.
var lexicon = dictionary(map[meaning]string{
	{kind: function, op: "avg"}:    "average|avg",
	{kind: function, op: "median"}: "median",
	{kind: function, op: "sum"}:    "total|sum|how much",
	{kind: function, op: "count"}:  "how many|number of|count",
	{kind: recount, op: "count"}:   "count them",

	{kind: superlative, order: 1}:               "highest|biggest|largest|top",
	{kind: superlative, order: -1}:              "lowest|smallest",
	{kind: superlative, order: 1, money: true}:  "most expensive",
	{kind: superlative, order: -1, money: true}: "cheapest",
	{kind: first}: "first",
	{kind: which}: "which",

	{kind: comparison, op: "gt"}: "more than|above|over",
	{kind: comparison, op: "lt"}: "less than|below|under",
	{kind: comparison, op: "ge"}: "at least",
	{kind: comparison, op: "le"}: "at most",
	{kind: timing, op: "gt"}:     "after",
	{kind: timing, op: "lt"}:     "before",

	{kind: negation}: "not",
	{kind: absence}:  "no|without",

	{kind: grouping}:          "by|per",
	{kind: unit, op: "month"}: "month",
	{kind: unit, op: "year"}:  "year",

	{kind: list}:              "show|show me|list",
	{kind: compare}:           "compare",
	{kind: describe}:          "describe|columns",
	{kind: joint, op: "and"}:  "and|,",
	{kind: joint, op: "or"}:   "or",
	{kind: mark}:              ".|?|!|;",
	{kind: back}:              "of them",
	{kind: filler}:            "is|are|was|were|have|has|that|where|with|in|on|of|for|from|what|whats|there|took|do we|please|pls|in total|in the file",
	{kind: filler, op: "the"}: "a|an|the", // an article is skipped: "in the city" is read as "in city"
})

// dictionary maps each phrase of the lists to its meaning.
func dictionary(phrases map[meaning]string) map[string]meaning {
	out := map[string]meaning{}
	for m, list := range phrases {
		for text := range strings.SplitSeq(list, "|") {
			out[text] = m
		}
	}
	return out
}
