package rank_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/internal/rank"
)

// Each string lists forms of one word. Each form finds the others.
var forms = []string{
	"study studies studied studying", "make makes making", "use uses used using", "plan plans planned planning", "plane planes",
	"change changes changed changing", "house houses housed housing", "open opens opened opening", "delete deletes deleted deleting",
	"control controls controlled controlling", "pass passes passed passing", "box boxes", "cache caches cached caching", "database databases",
	"city cities", "agree agrees agreed agreeing", "query queries queried querying", "hop hops hopped hopping", "hope hopes hoped hoping",
	"fix fixes fixed fixing", "play plays played playing", "die dies died dying", "potato potatoes", "café cafés", "allergy allergies",
	"celebrate celebrates celebrating celebration", "manage manager management managers", "deploy deploys deployed deployment",
	"connect connected connection", "cancel cancelled canceled cancellation", "organize organized organization", "happy happiness",
	"quick quickly", "general generally", "render rendered rendering renders", "trigger triggered triggers", "prefer prefers preferred preference",
}

func TestTermsOfFormsMeet(t *testing.T) {
	t.Parallel()
	for _, line := range forms {
		assert.Len(t, rank.Distinct(rank.Terms(line)), 1, line)
	}
}

func TestTermsOfOtherWordsDiffer(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"car care", "hop hope", "plan plane", "news new", "thing think", "king kin", "bus bush", "red read", "string strip", "C C++ C#", "tour tor",
		"number numb", "corner corn", "flower flow", "summer sum", "letter let", "paper pap", "career care", "user use", "policy police", "family fame",
		"sí no", "tower tow", "liver live", "statement state", "variable vary",
	} {
		assert.Len(t, rank.Distinct(rank.Terms(line)), len(strings.Fields(line)), line)
	}
}

func TestTerms_numbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b string }{
		{"50mg", "50 mg"},
		{"10 am", "10am"},
		{"BA 2490", "BA2490"},
		{"KX19ABC", "KX19 ABC"},
		{"db02", "db-02"},
		{"v2.10.3", "2.10.3"},
		{"2.10", "2.10.3"},
		{"192.168", "192.168.1.47"},
		{"192.168.1", "192.168.1.47"},
		{"1,299", "$1,299.99"},
		{"1299", "1.299,99 €"},
		{"1,000,000", "1.000.000"},
		{"1000000", "1,000,000"},
		{"+447700900123", "+44 7700 900123"},
		{"(030) 1234-567", "0301234567"},
		{"555-867-5309", "5558675309"},
		{"4111 1111 1111 1111", "4111111111111111"},
		{"9f3a1c", "9f3a1c7e55d04b2a9f3a1c7e55d04b2a9f3a1c7e"},
		{"9f3a1c7", "9f3a1c7e55d04b2a"},
		{"12:30pm", "12:30"},
		{"1.5kg", "1.5 kg"},
		{"go1.26", "Go 1.26"},
		{"covid19", "COVID-19"},
		{"covid 19", "covid19"},
		{"RFC2119", "RFC 2119"},
		{"iPhone15", "iPhone 15"},
		{"3rd", "3"},
		{"user123", "user 123"},
		{"2026-11-21", "20261121"},
		{"١٢٣mg", "123 mg"},
	} {
		assert.True(t, meet(c.a, c.b), "%q is %q, and %q is %q", c.a, rank.Terms(c.a), c.b, rank.Terms(c.b))
	}
	for _, c := range []struct{ a, b string }{
		{"1.5", "1.7"}, {"10:30", "10:45"}, {"1,2,3", "123"}, {"2.10", "2.1"}, {"2023 2024", "20232024"}, {"int4", "int8"}, {"12 345", "12345"}, {"1.5", "15"},
	} {
		assert.False(t, meet(c.a, c.b), "%q and %q are both %q", c.a, c.b, rank.Terms(c.b))
	}
}

func TestTerms_scripts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b string }{
		{"ﾋﾟｱﾉ", "ピアノ"},
		{"ｶﾞｽ", "ガス"},
		{"か\u3099く", "がく"},
		{"القاهره", "القاهرة"},
		{"أحمد", "احمد"},
		{"cafe\u0301", "café"},
		{"Việt", "Vie\u0323\u0302t"},
		{"й", "и\u0306"},
		{"ΆΝΘΡΩΠΟΣ", "άνθρωπος"},
		{"Ǿre", "øre"},
		{"İstanbul", "istanbul"},
	} {
		assert.True(t, meet(c.a, c.b), "%q is %q, and %q is %q", c.a, rank.Terms(c.a), c.b, rank.Terms(c.b))
	}
	assert.False(t, meet("か", "が"), "a kana is not the one without its mark")
}

// Stop words are terms if they are a part of a name.
func TestTerms_names(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"Her favourite band is The Who", "favourit band who"},
		{"Who is it? The. Who", ""},
		{"Then I was there", ""},
		{"She likes Take That", "like take that"},
		{"Anna and The\nWho", "anna"},
	} {
		assert.Equal(t, c.want, strings.Join(rank.Terms(c.text), " "), c.text)
	}
	assert.Equal(t, []string{"the", "who"}, rank.Stopped("the who?"))
}

// Terms returns one term for each word, at most three bytes longer than the word.
func TestTermsOfAWordAreOne(t *testing.T) {
	t.Parallel()
	words := strings.Fields(strings.Join(forms, " "))
	for _, w := range append(words, "haus", "straße", "gracias", "niños", "maison", "être", "über", "книга", "λόγος", "temps", "status", "analysis") {
		terms := rank.Terms(w)
		require.Len(t, terms, 1, w)
		assert.NotEmpty(t, terms[0], w)
		assert.LessOrEqual(t, len(terms[0]), len(w)+3, w)
	}
}
