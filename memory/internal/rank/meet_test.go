package rank_test

import (
	"strings"
	"testing"

	"github.com/weft-go/weft/memory/internal/rank"
)

// The words of a line meet each other, each the others.
var forms = []string{
	"live lives living lived", "life lives", "leave leaves leaving left", "leaf leaves", "ski skis skiing skied", "taxi taxis", "bus buses", "gas gases",
	"quiz quizzes", "die dying dies died death dead", "lie lying lies", "tie tying tied", "go goes going gone went", "index indices indexes", "matrix matrices",
	"analysis analyses analyse analyze", "crisis crises", "hypothesis hypotheses", "basis bases", "thief thieves", "loaf loaves", "scarf scarves", "shelf shelves",
	"half halves", "happy happier happiest happily happiness", "big bigger biggest", "early earlier earliest", "late later latest", "easy easier easily",
	"hot hotter hottest", "good better best", "bad worse worst", "celebrate celebrates celebrating celebration", "invite invited invitation", "educate education",
	"prefer prefers preferred preference preferences", "allergy allergic allergies", "marry married marriage marriages", "manage manager management managers",
	"teach taught teacher teaching", "deploy deploys deployed deployment", "pay paid payment", "connect connected connection", "decide decided decision",
	"discuss discussion", "cancel cancelled canceled cancellation", "configure configured configuration", "describe description", "subscribe subscriber subscription",
	"apply applies application", "notify notification", "divide division", "explain explanation", "arrive arrived arrival", "retrieve retrieval", "secure security",
	"different difference differ", "important importance", "pregnant pregnancy", "friend friendship friendly", "child children childhood", "member membership",
	"careful carefully care", "beautiful beauty", "quick quickly quicker", "general generally", "drive drove driven driver", "write wrote written writer",
	"swim swam swum swimmer", "run ran running runner", "sing sang song singer", "fly flew flight flying", "buy bought buying", "sell sold sale", "speak spoke speech",
	"know known knowledge", "born birth birthday", "weigh weight", "fail failed failure", "prove proof proven", "believe belief", "grandchild grandchildren",
	"render rendered rendering renders", "trigger triggered triggers", "monitor monitored monitors", "reference referenced references", "implement implemented implements",
	"increase increased increases", "advertise advertised advertisement",
	"colour color colours colors coloured colored", "favourite favorite favourites", "behaviour behavior", "neighbour neighbor neighbours", "grey gray", "vogue vogues", "licence license licensed",
	"defence defense", "offence offense", "organise organize organising organized organisation organization", "realise realize", "recognise recognized",
	"centre center centres centers", "theatre theater", "litre liter litres", "metre meter", "fibre fiber", "catalogue catalog", "dialogue dialog", "programme program programmed",
	"travelled traveled traveller traveler", "fulfil fulfill", "paediatric pediatric", "foetus fetus", "tyre tire", "mould mold", "aluminium aluminum", "jewellery jewelry",
	"cheque check", "practise practice", "storey story", "judgement judgment", "mum mom", "yoghurt yogurt", "analyse analyze",
}

func TestTerms_forms(t *testing.T) {
	t.Parallel()
	for _, line := range forms {
		words := strings.Fields(line)
		for _, w := range words[1:] {
			if !meet(words[0], w) || !meet(w, words[0]) {
				t.Errorf("%s is %q, and %s is %q", words[0], rank.Terms(words[0]), w, rank.Terms(w))
			}
		}
	}
}

// What looks as if it were a form of another word, and is none.
func TestTerms_apart(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"tour tor", "hour hor", "four for", "number numb", "mother moth", "corner corn", "flower flow", "summer sum", "dinner din", "letter let", "paper pap",
		"career care", "university universe", "organ organize", "business busy", "apartment apart", "department depart", "authority author", "vegetable vegetarian",
		"factor fact", "portable port", "user use", "news new", "policy police", "general generate", "habitat habit", "pension pend", "edition edit", "production product",
		"probable probe", "important import", "server serve", "witness wit", "family fame", "Paris Pari", "statement state", "variable vary", "hospital hospitality", "animal animate",
		"sí no", "tower tow", "liver live", "shower show", "potter pot", "river rive", "computer compute", "experiment experience", "document docu",
	} {
		words := strings.Fields(line)
		for _, w := range words[1:] {
			if meet(words[0], w) {
				t.Errorf("%s and %s are both %q", words[0], w, rank.Terms(w))
			}
		}
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
		if !meet(c.a, c.b) {
			t.Errorf("%q is %q, and %q is %q", c.a, rank.Terms(c.a), c.b, rank.Terms(c.b))
		}
	}
	for _, c := range []struct{ a, b string }{
		{"1.5", "1.7"}, {"10:30", "10:45"}, {"1,2,3", "123"}, {"2.10", "2.1"}, {"2023 2024", "20232024"}, {"int4", "int8"}, {"12 345", "12345"}, {"1.5", "15"},
	} {
		if meet(c.a, c.b) {
			t.Errorf("%q and %q are both %q", c.a, c.b, rank.Terms(c.b))
		}
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
		if !meet(c.a, c.b) {
			t.Errorf("%q is %q, and %q is %q", c.a, rank.Terms(c.a), c.b, rank.Terms(c.b))
		}
	}
	if meet("か", "が") {
		t.Error("a kana is the one without its mark")
	}
}

// Words that are left out are terms where they are a part of a name.
func TestTerms_names(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"Her favourite band is The Who", "favorit band who"},
		{"Who is it? The. Who", ""},
		{"Then I was there", ""},
		{"She likes Take That", "like take that"},
		{"Anna and The\nWho", "anna"},
	} {
		if got := strings.Join(rank.Terms(c.text), " "); got != c.want {
			t.Errorf("Terms(%q): got %s, want %s", c.text, got, c.want)
		}
	}
	if got := strings.Join(rank.Stopped("the who?"), " "); got != "the who" {
		t.Errorf("got %s", got)
	}
}

// The first term of a word is the only one of it and of itself again, or else words would drift.
func TestTerms_bounded(t *testing.T) {
	t.Parallel()
	for _, line := range forms {
		for _, w := range strings.Fields(line) {
			terms := rank.Terms(w)
			if len(terms) == 0 || len(terms) > 2 || len(rank.Distinct(terms)) != len(terms) {
				t.Errorf("%s is %q", w, terms)
			}
			for _, term := range terms {
				if term == "" || len(term) > len(w)+3 {
					t.Errorf("%s is %q", w, terms)
				}
			}
		}
	}
}
