package rank

import "strings"

// respell returns a stem as American English would write it, so that both spellings meet. What it makes of other words need
// not be one, as long as no other word becomes the same.
func respell(w string) string {
	if other, ok := spellings[w]; ok {
		return other
	}
	n := len(w)
	if n < 4 {
		return w
	}
	w = digraphs(w)
	n = len(w)
	switch {
	case strings.HasSuffix(w, "ogue") && vowels(w[:n-4]) > 0: // catalogue
		return w[:n-2]
	case strings.HasSuffix(w, "ens") && vowels(w) > 1: // license
		return w[:n-1] + "c"
	case strings.HasSuffix(w, "tr") || strings.HasSuffix(w, "br"): // centre, without its e
		return w[:n-1] + "er"
	case strings.HasSuffix(w, "mm") && vowels(w) > 1: // programme
		return w[:n-1]
	}
	return humour(w)
}

// humour makes -our- -or-, unless it is in the first syllable, as it is in tour, or before letters that it is
// not before in British words, as in resource.
func humour(w string) string {
	i := strings.LastIndex(w, "our")
	if i < 2 || vowels(w[:i]) == 0 && !vowel(w, i-1) {
		return w
	}
	if i+3 < len(w) && strings.IndexByte("cgnst", w[i+3]) >= 0 {
		return w
	}
	return w[:i+1] + w[i+2:]
}

// digraphs makes the ae of paediatric and the oe of foetus e.
func digraphs(w string) string {
	if i := strings.Index(w, "ae"); i >= 0 && len(w) > 6 && i+2 < len(w) {
		w = w[:i] + w[i+1:]
	}
	if !strings.Contains(w, "oe") {
		return w
	}
	for _, old := range []string{"oestr", "oesoph", "foet", "noeuv", "rrhoe", "amoeb"} {
		if i := strings.Index(w, old); i >= 0 {
			at := i + strings.Index(old, "oe")
			return w[:at] + w[at+1:]
		}
	}
	return w
}

// spellings has words whose spellings differ in ways of their own, by their stems.
var spellings = map[string]string{}

const respelled = `gray grey;tire tyre;curb kerb;plow plough;mold mould;molt moult;skeptic sceptic;pajama pyjama;aluminum aluminium;jewelry jewellery;cozy cosy
mustache moustache;airplane aeroplane;donut doughnut;sulfur sulphur;maneuver manoeuvre;artifact artefact;disk disc;whiskey whisky;mom mum;mommy mummy
yogurt yoghurt;judgment judgement;acknowledgment acknowledgement;aging ageing;story storey;practice practise;ax axe;draft draught
pediatric paediatric;skillful skilful;fulfill fulfil;enroll enrol;installment instalment;woolen woollen;marvelous marvellous;ton tonne;check cheque
karat carat;omelet omelette;cigaret cigarette;prolog prologue;cataloger cataloguer;license licence;offense offence;defense defence;pretense pretence`
