package textfile

import "strings"

// irregular maps irregular forms of verbs and nouns to their base forms. It has no form that is
// also another word, such as "left" and "found".
var irregular = func() map[string]string {
	base := map[string]string{}
	for _, line := range []string{
		"begin began begun", "break broke broken", "bring brought", "build built", "buy bought", "catch caught",
		"child children", "choose chose chosen", "come came", "drink drank drunk", "drive drove driven", "eat ate eaten",
		"fall fell fallen", "foot feet", "forget forgot forgotten", "give gave given", "grow grew grown", "hold held",
		"keep kept", "know knew known", "lend lent", "lose lost loss", "make made", "man men", "mean meant", "meet met",
		"pay paid payment", "person people", "ride rode ridden", "run ran", "sell sold sale", "send sent",
		"sing sang sung", "sleep slept", "speak spoke spoken", "spend spent", "stand stood", "steal stole stolen",
		"swim swam swum", "take took taken", "teach taught", "tell told", "think thought", "throw threw thrown",
		"wear wore worn", "win won", "woman women", "write wrote written",
	} {
		forms := strings.Fields(line)
		for _, form := range forms[1:] {
			base[form] = forms[0]
		}
	}
	return base
}()
