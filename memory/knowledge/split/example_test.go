package split_test

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/memory/knowledge/split"
)

const guide = `# Brewing tea

Warm the pot first.

## Green tea

Use water of 80 °C. Let it steep for two minutes.

## Black tea

Use boiling water. Let it steep for four minutes, and no longer, as it turns bitter.
`

func Example() {
	d := split.Splitter{Size: 24}.Split(guide, split.Markdown)
	fmt.Println(d.Title)
	for _, p := range d.Pieces {
		fmt.Printf("%s [%d:%d] %q\n", strings.Join(p.Headings, " > "), p.Start, p.End, p.Content)
	}
	// Output:
	// Brewing tea
	// Brewing tea [0:34] "# Brewing tea\n\nWarm the pot first."
	// Brewing tea > Green tea [36:100] "## Green tea\n\nUse water of 80 °C. Let it steep for two minutes."
	// Brewing tea > Black tea [102:200] "## Black tea\n\nUse boiling water. Let it steep for four minutes, and no longer, as it turns bitter."
}

func ExampleSplitter_overlap() {
	text := "The kettle whistles. The pot is warm. The leaves are in. The water is poured. The tea steeps. It is done."
	for _, p := range (split.Splitter{Size: 16, Overlap: 6}).Split(text, split.Plain).Pieces {
		fmt.Println(p.Content)
	}
	// Output:
	// The kettle whistles. The pot is warm. The leaves are in.
	// The leaves are in. The water is poured. The tea steeps.
	// The tea steeps. It is done.
}

func ExampleSplitter_json() {
	source := `{"menu": [{"tea": "Sencha", "price": 4.5}, {"tea": "Assam", "price": 3}]}`
	for _, p := range (split.Splitter{}).Split(source, split.JSON).Pieces {
		fmt.Printf("%s: %q from %s\n", strings.Join(p.Headings, "."), p.Content, source[p.Start:p.End])
	}
	// Output:
	// menu: "tea: Sencha\nprice: 4.5\ntea: Assam\nprice: 3" from "tea": "Sencha", "price": 4.5}, {"tea": "Assam", "price": 3
}

// A counter that uses the tokeniser of the model is more exact than the estimate.
func ExampleCounterFunc() {
	words := split.CounterFunc(func(text string) int { return len(strings.Fields(text)) })
	for _, p := range (split.Splitter{Size: 16, Counter: words}).Split(guide, split.Markdown).Pieces {
		fmt.Println(p.Tokens, p.Headings)
	}
	// Output:
	// 7 [Brewing tea]
	// 14 [Brewing tea Green tea]
	// 6 [Brewing tea Black tea]
	// 13 [Brewing tea Black tea]
}
