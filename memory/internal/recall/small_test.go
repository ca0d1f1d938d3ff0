package recall_test

import (
	"fmt"
	"testing"

	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/internal/recall"
)

// things are pairs of words for one thing, and words that go with it.
var things = [][]string{
	{"sofa", "couch", "cushion", "lounge", "velvet"},
	{"bicycle", "velocipede", "pedal", "saddle", "spoke"},
	{"doctor", "physician", "clinic", "patient", "surgery"},
	{"film", "picture", "cinema", "screen", "actor"},
	{"boat", "vessel", "harbour", "sail", "anchor"},
	{"autumn", "fall", "leaf", "harvest", "october"},
	{"lawyer", "attorney", "court", "trial", "judge"},
	{"garbage", "rubbish", "bin", "dump", "landfill"},
	{"stove", "cooker", "oven", "kitchen", "gas"},
	{"rucksack", "backpack", "strap", "hike", "trail"},
}

var people = []string{"Marta", "Tobias", "Ingrid", "Rafael", "Noor", "Yusuf", "Greta", "Kenji", "Paloma", "Anton"}

var colours = []string{"red", "green", "blue", "white", "black"}

// smallSets has 100 facts among 4,000 sentences, of which vectors can learn which words mean the same.
func smallSets() (same, other recall.Set, words *recall.Words) {
	same, other = recall.Set{Name: "small, the same words"}, recall.Set{Name: "small, other words"}
	add := func(text string) int {
		same.Documents = append(same.Documents, recall.Document{Text: text})
		return len(same.Documents) - 1
	}
	for i, name := range people {
		for j, thing := range things {
			answer := []int{add(fmt.Sprintf("%s has a %s %s.", name, colours[(i+j)%5], thing[0]))}
			same.Questions = append(same.Questions, recall.Question{Text: fmt.Sprintf("Which %s does %s own?", thing[0], name), Answers: answer})
			other.Questions = append(other.Questions, recall.Question{Text: fmt.Sprintf("Which %s does %s own?", thing[1], name), Answers: answer})
		}
	}
	for i := range 4000 {
		thing := things[i%len(things)]
		add(fmt.Sprintf("Number %d: the %s near the %s, a %s and the %s.", i, thing[i/10%2], thing[2+i/20%3], thing[2+i/7%3], thing[2+i/60%3]))
	}
	other.Documents = same.Documents
	terms := make([][]string, len(same.Documents))
	for i, d := range same.Documents {
		terms[i] = rank.Terms(d.Text)
	}
	return same, other, recall.Learn(terms, 16)
}

func TestSmall(t *testing.T) {
	t.Parallel()
	same, other, words := smallSets()
	checkSame(t, measure(t, same, words.Vector))
	checkOther(t, measure(t, other, words.Vector))
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	set := []recall.Document{{Text: "green tea"}, {Text: "black tea"}, {Text: "water"}}
	x := recall.NewIndex(set, rank.Terms, nil)
	f := recall.Measure(x, []recall.Question{{"tea", []int{1}}, {"green tea", []int{0, 1}}, {"milk", []int{2}}}, 10, recall.AllWords, recall.ByWords)
	if all, words := f[0], f[1]; all.MRR10 != 0.5 || words.MRR10 != 0.5 || all.Recall5 != 0.5 || words.Recall10 < 0.66 || words.Recall10 > 0.67 {
		t.Errorf("got %+v", f)
	}
}

func TestLearn(t *testing.T) {
	t.Parallel()
	_, _, words := smallSets()
	if words.Vector("zebra") != nil || words.Knows("zebra") || !words.Knows("sofas") || words.Knows("two words") {
		t.Error("it knows words that there are none of, or not those that there are")
	}
	alike, apart := rank.Cosine(words.Vector("sofa"), words.Vector("couch")), rank.Cosine(words.Vector("sofa"), words.Vector("attorney"))
	if alike < apart+0.3 {
		t.Errorf("sofa and couch: %.2f, sofa and attorney: %.2f", alike, apart)
	}
}
