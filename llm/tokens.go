package llm

import (
	"unicode"
	"unicode/utf8"
)

// A TokenCounter counts the tokens of a message in a request. It is safe for concurrent use.
// An exact counter uses the tokeniser of the model:
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

// The estimates for content that is not text.
const (
	messageTokens = 4    // the role and the separators of a message
	callTokens    = 8    // the id and the separators of a tool call
	imageTokens   = 1000 // an image of common size; a photograph can have more
	glanceTokens  = 85   // an image with Detail "low"
	bytesPerToken = 50   // the number of bytes of a binary file for one token
)

// EstimateTokens estimates the number of tokens of a message. It is the default counter of
// [Prune]. It needs no vocabulary and no network.
//
// A text is counted by its scripts: a Latin word is one token per seven letters, rounded up,
// a number is one token per three digits, rounded up, and a letter of most other scripts is
// 0.4 to 1 token. Newer and older tokenisers count differently. For prose, code and JSON, the
// estimate is seldom more than 10 percent below the lowest of their counts, or more than a third
// above the highest. An image counts 1000 tokens, or 85 with Detail "low". A binary file counts
// at least 1000.
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

// A run is a kind of adjacent runes that are counted together.
type run uint8

const (
	runNone  run = iota
	runWord      // letters of a script that is not in scripts, such as Latin
	runDigit     // decimal digits
	runSpace     // white space
	runMark      // punctuation
)

// perToken is the number of runes in a token, for each kind of run.
var perToken = [...]int{runWord: 7, runDigit: 3, runSpace: 8, runMark: 2}

// A script is a range of letters, with the weight of a letter in hundredths of a token.
type script struct {
	from, to rune
	weight   int
}

// scripts lists the scripts in the order of their ranges. Letters of all other scripts are
// counted in words.
var scripts = []script{
	{0x0370, 0x03ff, 65},    // Greek
	{0x0400, 0x052f, 42},    // Cyrillic
	{0x0530, 0x08ff, 50},    // Armenian, Hebrew, Arabic, Syriac and others
	{0x0900, 0x1cff, 60},    // the scripts of India and South-East Asia, Georgian
	{0x1f00, 0x1fff, 100},   // polytonic Greek
	{0x3040, 0x30ff, 90},    // kana
	{0x3400, 0x9fff, 90},    // Han
	{0xac00, 0xd7af, 90},    // Hangul
	{0xf900, 0xfaff, 100},   // Han compatibility ideographs
	{0x20000, 0x3ffff, 200}, // rare Han
}

// estimate returns the estimated number of tokens of a text.
func estimate(text string) int {
	var tokens, hundredths, length int
	var current run
	previous := rune(0)
	for _, r := range text {
		kind, weight := classify(r)
		hundredths += weight
		if kind == runWord && unicode.IsUpper(r) && unicode.IsLower(previous) {
			current = runNone // camelCase has two words
		}
		switch {
		case kind == runNone:
			current = runNone
		case kind != current:
			if kind == runDigit && current == runSpace && length == 0 {
				tokens++ // a single space is part of the next word, but not of a number
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

// classify returns the run of a rune, or runNone and the weight of the rune.
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
		return runNone, 60 // joiners and modifiers, as in emoji
	case r > 0xffff:
		return runNone, 200 // emoji
	default:
		return runMark, 0
	}
}
