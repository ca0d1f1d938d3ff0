package ui

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// textsJSON has the texts of the chat page. The TypeScript of the pages uses the file as a type, so a text that is not in
// it does not compile.
//
//go:embed texts.json
var textsJSON []byte

// ChatTexts returns the English texts of the chat page in alphabetical order. [Chat].Texts may replace them. A name in
// braces stands for a value: "{count} rows".
func ChatTexts() []string {
	return slices.Sorted(maps.Keys(chatTexts()))
}

func chatTexts() map[string]string {
	var texts map[string]string
	if err := json.Unmarshal(textsJSON, &texts); err != nil {
		panic(err) // the file is part of the program
	}
	return texts
}

var (
	// languageTag matches tags that browsers accept: a language, a script, a region, and extensions for numbers and days.
	languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-u(-[A-Za-z0-9][A-Za-z](-[A-Za-z0-9]{3,8})*)+)?$`)
	valueName   = regexp.MustCompile(`\{\w+\}`)
)

// checkTexts returns an error for an unknown text, or for a name in braces that the English text lacks.
func checkTexts(texts map[string]string) error {
	known := chatTexts()
	for _, english := range slices.Sorted(maps.Keys(texts)) {
		if _, ok := known[english]; !ok {
			return fmt.Errorf("ui: Chat.Texts has %q, which is no text of the page; ui.ChatTexts returns them", english)
		}
		for _, name := range valueName.FindAllString(texts[english], -1) {
			if !strings.Contains(english, name) {
				return fmt.Errorf("ui: Chat.Texts[%q] has %s, and this text has no such value", english, name)
			}
		}
	}
	return nil
}

// rightToLeft has the languages and scripts that are written from right to left.
var rightToLeft = []string{"ar", "azb", "ckb", "dv", "fa", "he", "iw", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi", "adlm", "arab", "hebr", "nkoo", "syrc", "thaa"}

// directionOf returns the direction of a language. A script in its tag, as in "az-Arab", decides.
func directionOf(language string) string {
	parts := strings.Split(strings.ToLower(language), "-")
	name := parts[0]
	if len(parts) > 1 && len(parts[1]) == 4 {
		name = parts[1]
	}
	if slices.Contains(rightToLeft, name) {
		return "rtl"
	}
	return "ltr"
}
