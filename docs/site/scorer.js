// Pages whose titles hold the words that are searched for come first; all else is as Sphinx has it.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0, title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  score([, title, , , score]) {
    const plain = (text) => text.toLowerCase().replaceAll("_", " "), asked = new URLSearchParams(location.search).get("q") ?? "";
    const words = plain(asked).split(/\s+/).filter(Boolean), held = words.filter((word) => plain(title).includes(word));
    return score + 100 * held.length / (words.length || 1);
  },
};
