package llm

import (
	"unicode"
	"unicode/utf8"
)

// A TokenCounter counts the tokens that a message takes up in a request. It may
// be used by several goroutines at once. A real one asks the tokeniser of the
// model at hand:
//
//	counter := llm.TokenCounterFunc(func(m llm.Message) int {
//		return len(encoding.Encode(m.Text())) + 4
//	})
type TokenCounter interface {
	CountTokens(m Message) int
}

// A TokenCounterFunc is a function that is a [TokenCounter].
type TokenCounterFunc func(m Message) int

// CountTokens calls f.
func (f TokenCounterFunc) CountTokens(m Message) int { return f(m) }

// What an estimate adds for things that are not text.
const (
	messageTokens = 4    // the role, and what separates messages
	callTokens    = 8    // the id of a tool call, and what surrounds it
	imageTokens   = 1000 // an image of common size; a photograph can be more
	glanceTokens  = 85   // an image that is looked at in low detail
	bytesPerToken = 50   // of a file that is not text
)

// EstimateTokens guesses the tokens of a message, and is the counter of those
// who name none. It needs no table and no network, and works in the time that
// it takes to read the text.
//
// Text is counted by script: a word of the Latin alphabet is one token for each
// seven letters begun, three digits are one, and a letter of another script
// between 0.4 and 1. For prose, code and JSON that comes out between what newer
// and older tokenisers count, and seldom a tenth below either or a third above.
// Images and files are a rough guess, of 1000 tokens and more.
func EstimateTokens(m Message) int {
	total := messageTokens + estimate(m.Name)
	for _, p := range m.Parts {
		total += p.estimate()
	}
	for _, c := range m.ToolCalls {
		total += callTokens + estimate(c.Name) + estimate(c.Text())
	}
	if m.ToolCallID != "" {
		total += callTokens
	}
	return total
}

func (p Part) estimate() int {
	switch {
	case p.Type == PartImage && p.Detail == "low":
		return glanceTokens
	case p.Type == PartImage:
		return imageTokens
	case p.Type == PartFile && utf8.Valid(p.Data):
		return estimate(string(p.Data)) + estimate(p.Name) + estimate(p.URL)
	case p.Type == PartFile:
		return max(imageTokens, len(p.Data)/bytesPerToken)
	default:
		return estimate(p.Text)
	}
}

// A run is a stretch of text whose runes count together.
type run uint8

const (
	runNone  run = iota
	runWord      // letters that have no weight of their own, such as Latin
	runDigit     // decimal digits
	runSpace     // space beyond the one before a word
	runMark      // punctuation
)

// perToken is how many runes of a run are one token.
var perToken = [...]int{runWord: 7, runDigit: 3, runSpace: 8, runMark: 2}

// A script is a range of letters and the hundredths of a token that one is.
type script struct {
	from, to rune
	weight   int
}

// scripts are in the order of their ranges. What is in none of them and is a
// letter is a word.
var scripts = []script{
	{0x0370, 0x03ff, 65},    // Greek
	{0x0400, 0x052f, 42},    // Cyrillic
	{0x0530, 0x08ff, 50},    // Armenian, Hebrew, Arabic and their neighbours
	{0x0900, 0x1cff, 60},    // the scripts of India and South-East Asia, Georgian
	{0x1f00, 0x1fff, 100},   // Greek with its old accents
	{0x3040, 0x30ff, 90},    // kana
	{0x3400, 0x9fff, 90},    // Han
	{0xac00, 0xd7af, 90},    // Hangul
	{0xf900, 0xfaff, 100},   // Han for compatibility
	{0x20000, 0x3ffff, 200}, // rare Han
}

// estimate counts the tokens of a text.
func estimate(text string) int {
	var tokens, hundredths, length int
	var current run
	previous := rune(0)
	for _, r := range text {
		kind, weight := classify(r)
		hundredths += weight
		if kind == runWord && unicode.IsUpper(r) && unicode.IsLower(previous) {
			current = runNone // two words in one name
		}
		switch {
		case kind == runNone:
			current = runNone
		case kind != current:
			if kind == runDigit && current == runSpace && length == 0 {
				tokens++ // a space is part of a word, and not of a number
			}
			current, length = kind, 0
			if kind != runSpace || r != ' ' {
				tokens++
				length = 1
			}
		case length%perToken[kind] == 0:
			tokens++
			length++
		default:
			length++
		}
		previous = r
	}
	return tokens + (hundredths+99)/100
}

// classify returns the run that a rune belongs to, or its weight.
func classify(r rune) (run, int) {
	switch {
	case r >= '0' && r <= '9':
		return runDigit, 0
	case unicode.IsSpace(r):
		return runSpace, 0
	case r < 0x80 && !unicode.IsLetter(r):
		return runMark, 0
	}
	for _, s := range scripts {
		if r >= s.from && r <= s.to {
			return runNone, s.weight
		}
	}
	switch {
	case unicode.IsLetter(r):
		return runWord, 0
	case unicode.In(r, unicode.Mn, unicode.Cf, unicode.Sk):
		return runNone, 60 // what joins and colours pictures
	case r > 0xffff:
		return runNone, 200 // pictures
	default:
		return runMark, 0
	}
}
