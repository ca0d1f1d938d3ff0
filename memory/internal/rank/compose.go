package rank

import "strings"

// Compose returns a text in lower case as NFC would have it, for what is written with the marks of Latin, Greek, Cyrillic,
// Arabic and kana: e and an acute accent are é. Other texts are returned as they are.
func Compose(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return compositions[r] != "" }) {
		return text
	}
	composed := make([]rune, 0, len(text))
	for _, r := range text {
		if n := len(composed); n > 0 {
			if c, ok := compose(composed[n-1], r); ok {
				composed[n-1] = c
				continue
			}
		}
		composed = append(composed, r)
	}
	return string(composed)
}

// compose returns the letter that a letter and a mark are.
func compose(letter, mark rune) (rune, bool) {
	c, ok := composed[[2]rune{letter, mark}]
	return c, ok
}

// composed has what a letter and a mark are together, and bases the letter that is under the marks of one that may do
// without them, as no kana may.
var composed, bases = pairs()

func pairs() (composed map[[2]rune]rune, bases map[rune]rune) {
	composed, bases = map[[2]rune]rune{}, map[rune]rune{}
	for mark, list := range compositions {
		runes := []rune(list)
		for i := 0; i < len(runes); i += 2 {
			composed[[2]rune{runes[i], mark}] = runes[i+1]
			if mark < voiced {
				bases[runes[i+1]] = runes[i]
			}
		}
	}
	return composed, bases
}

// voiced is the first of the two marks of kana.
const voiced = 0x3099

// compositions has for each mark the letters that it goes with, each before the one that they are together.
var compositions = map[rune]string{
	0x0300: "aàeèiìoòuùüǜnǹеѐиѝēḕōṑwẁâầăằêềôồơờưừyỳἀἂἁἃἐἒἑἓἠἢἡἣἰἲἱἳὀὂὁὃὐὒὑὓὠὢὡὣαὰεὲηὴιὶοὸυὺωὼϊῒϋῢ",
	0x0301: "aáeéiíoóuúyýcćlĺnńrŕsśzźüǘgǵåǻæǽøǿϊΐαάεέηήιίϋΰοόυύωώϒϓгѓкќçḉēḗïḯkḱmḿõṍōṓpṕũṹwẃâấăắêếôốơớưứἀἄἁἅἐἔἑἕἠἤἡἥἰἴἱἵὀὄὁὅὐὔὑὕὠὤὡὥ",
	0x0302: "aâeêiîoôuûcĉgĝhĥjĵsŝwŵyŷzẑạậẹệọộ",
	0x0303: "aãnñoõiĩuũvṽâẫăẵeẽêễôỗơỡưữyỹ",
	0x0304: "aāeēiīoōuūüǖäǟȧǡæǣǫǭöȫõȭȯȱyȳиӣуӯgḡḷḹṛṝαᾱιῑυῡ",
	0x0306: "aăeĕgğiĭoŏuŭийуўжӂаӑеӗȩḝạặαᾰιῐυῠ",
	0x0307: "cċeėgġzżaȧoȯbḃdḋfḟhḣmṁnṅpṗrṙsṡśṥšṧṣṩtṫwẇxẋyẏſẛ",
	0x0308: "aäeëiïoöuüyÿιϊυϋϒϔеёіїаӓәӛжӝзӟиӥоӧөӫэӭуӱчӵыӹhḧõṏūṻwẅxẍtẗ",
	0x0309: "aảâẩăẳeẻêểiỉoỏôổơởuủưửyỷ",
	0x030A: "aåuůwẘyẙ",
	0x030B: "oőuűуӳ",
	0x030C: "cčdďeělľnňrřsštťzžaǎiǐoǒuǔüǚgǧkǩʒǯjǰhȟ",
	0x030F: "aȁeȅiȉoȍrȑuȕѵѷ",
	0x0311: "aȃeȇiȋoȏrȓuȗ",
	0x0313: "αἀεἐηἠιἰοὀυὐωὠρῤ",
	0x0314: "αἁεἑηἡιἱοὁυὑωὡρῥ",
	0x031B: "oơuư",
	0x0323: "bḅdḍhḥkḳlḷmṃnṇrṛsṣtṭvṿwẉzẓaạeẹiịoọơợuụưựyỵ",
	0x0324: "uṳ",
	0x0325: "aḁ",
	0x0326: "sștț",
	0x0327: "cçgģkķlļnņrŗsştţeȩdḑhḩ",
	0x0328: "aąeęiįuųoǫ",
	0x032D: "dḓeḙlḽnṋtṱuṷ",
	0x032E: "hḫ",
	0x0330: "eḛiḭuṵ",
	0x0331: "bḇdḏkḵlḻnṉrṟtṯzẕhẖ",
	0x0342: "ἀἆἁἇἠἦἡἧἰἶἱἷὐὖὑὗὠὦὡὧαᾶηῆιῖϊῗυῦϋῧωῶ",
	0x0345: "ἀᾀἁᾁἂᾂἃᾃἄᾄἅᾅἆᾆἇᾇἠᾐἡᾑἢᾒἣᾓἤᾔἥᾕἦᾖἧᾗὠᾠὡᾡὢᾢὣᾣὤᾤὥᾥὦᾦὧᾧὰᾲαᾳάᾴᾶᾷὴῂηῃήῄῆῇὼῲωῳώῴῶῷ",
	0x0653: "اآ",
	0x0654: "اأوؤيئەۀہۂےۓ",
	0x0655: "اإ",
	0x3099: "かがきぎくぐけげこごさざしじすずせぜそぞただちぢつづてでとどはばひびふぶへべほぼうゔゝゞカガキギクグケゲコゴサザシジスズセゼソゾタダチヂツヅテデトドハバヒビフブヘベホボウヴワヷヰヸヱヹヲヺヽヾ",
	0x309A: "はぱひぴふぷへぺほぽハパヒピフプヘペホポ",
}
