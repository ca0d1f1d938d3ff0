package llm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/llm"
)

// counted lists texts with the numbers of their tokens in the vocabulary o200k_base and in the
// older cl100k_base.
var counted = []struct {
	name, text string
	newer      int // in o200k_base
	older      int // in cl100k_base
}{
	{"English", "The committee met on Tuesday to discuss the proposal, but nobody could agree on which of the three options would be cheapest to maintain over the next ten years.", 31, 31},
	{"German", "Der Ausschuss traf sich am Dienstag, um den Vorschlag zu besprechen, doch niemand konnte sich darauf einigen, welche der drei Möglichkeiten über zehn Jahre am günstigsten wäre.", 35, 46},
	{"French", "Le comité s'est réuni mardi pour discuter de la proposition, mais personne n'a pu s'accorder sur l'option la moins chère à entretenir pendant les dix prochaines années.", 37, 45},
	{"Russian", "Комитет собрался во вторник, чтобы обсудить предложение, но никто не смог договориться о том, какой из трёх вариантов будет дешевле всего в течение десяти лет.", 40, 74},
	{"Greek", "Η επιτροπή συνεδρίασε την Τρίτη για να συζητήσει την πρόταση, αλλά κανείς δεν συμφώνησε ποια από τις τρεις επιλογές θα ήταν η φθηνότερη.", 46, 121},
	{"Chinese", "委员会星期二开会讨论了这项提议,但是没有人能就三个方案中哪一个在未来十年维护成本最低达成一致。", 33, 52},
	{"Japanese", "委員会は火曜日に会議を開いて提案について話し合ったが、三つの案のうちどれが今後十年間で最も安く維持できるかについて誰も合意できなかった。", 54, 75},
	{"Korean", "위원회는 화요일에 모여 제안을 논의했지만, 세 가지 방안 가운데 어느 것이 앞으로 십 년 동안 가장 저렴할지에 대해 아무도 합의하지 못했다.", 42, 79},
	{"Arabic", "اجتمعت اللجنة يوم الثلاثاء لمناقشة الاقتراح، لكن لم يتفق أحد على أي من الخيارات الثلاثة سيكون الأرخص خلال السنوات العشر القادمة.", 33, 91},
	{"Hindi", "समिति की बैठक मंगलवार को प्रस्ताव पर चर्चा करने के लिए हुई, लेकिन कोई भी इस बात पर सहमत नहीं हो सका कि तीनों में से कौन सा विकल्प सबसे सस्ता होगा।", 39, 134},
	{"Thai", "คณะกรรมการประชุมกันเมื่อวันอังคารเพื่อหารือข้อเสนอ แต่ไม่มีใครตกลงกันได้ว่าทางเลือกใดในสามทางจะถูกที่สุดในอีกสิบปีข้างหน้า", 44, 104},
	{"JSON", `{"city":"Athens","days":[1,2,3],"options":{"unit":"celsius","lang":"en"},"id":"0f8e4c1a-9b7d-4e55-a3c2-1d2e3f4a5b6c","price":1299.95}`, 70, 69},
	{"Go", "func (s *Store) Get(ctx context.Context, key string) (Value, error) {\n\tif err := ctx.Err(); err != nil {\n\t\treturn Value{}, fmt.Errorf(\"store: get %q: %w\", key, err)\n\t}\n\treturn s.values[key], nil\n}\n", 60, 60},
	{"emoji", "Great job! 🎉🚀👍🏽 See you there 👩‍👩‍👧 ☀️", 24, 33},
	{"digits", "Call 00441632960983 or 0800123456 before 2026-11-21 17:30:00.", 28, 28},
}

func TestEstimateTokens(t *testing.T) {
	t.Parallel()
	empty := llm.EstimateTokens(llm.User(""))
	for _, c := range counted {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := llm.EstimateTokens(llm.User(c.text)) - empty
			low, high := float64(min(c.newer, c.older))*0.9, float64(max(c.newer, c.older))*1.3
			t.Logf("estimated %d, counted %d and %d", got, c.newer, c.older)
			assert.GreaterOrEqual(t, float64(got), low)
			assert.LessOrEqual(t, float64(got), high)
		})
	}
}

func TestEstimateTokensOfOtherThings(t *testing.T) {
	t.Parallel()
	cost := func(m llm.Message) int { return llm.EstimateTokens(m) - llm.EstimateTokens(llm.User("")) }
	image := llm.ImageURL("https://example.com/a.png")
	glance := image
	glance.Detail = "low"
	tests := []struct {
		name      string
		give      llm.Message
		low, high int
	}{
		{"an image", llm.User("", image), 800, 1600},
		{"an image at a glance", llm.User("", glance), 85, 85},
		{"a text file", llm.User("", llm.File("a.txt", "text/plain", []byte(counted[0].text))), 31, 45},
		{"a large file", llm.User("", llm.File("a.pdf", "application/pdf", append(make([]byte, 100_000), 0xff))), 2000, 2000},
		{"a call", llm.Assistant("", llm.ToolCall{ID: "1", Name: "weather", Arguments: []byte(`{"city":"Athens"}`)}), 12, 20},
		{"a result", llm.ToolResult(llm.ToolCall{ID: "1", Name: "weather"}, "sunny"), 8, 14},
	}
	for _, test := range tests {
		got := cost(test.give)
		assert.GreaterOrEqual(t, got, test.low, test.name)
		assert.LessOrEqual(t, got, test.high, test.name)
	}
}
