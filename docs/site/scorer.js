// Pages whose titles hold the words that are searched for come first, then the glossary and the lessons; all else is as Sphinx has it.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0, title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  score([page, title, , about, score]) {
    const plain = (text) => text.toLowerCase().replaceAll("_", " "), asked = new URLSearchParams(location.search).get("q") ?? "";
    const words = splitQuery(plain(asked)), held = words.filter((word) => plain(title).includes(word));
    const first = page.endsWith("/glossary") ? 2 : page.startsWith("notebooks/") ? 1 : 0;
    return score + first + (about ? 50 : 100) * held.length / (words.length || 1);  // names of the reference have an `about`
  },
};

// The index holds the words that Chinese text was cut into: what is searched for is cut into the longest of them.
const RUNS = /\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{Letter}\p{Number}_])+/gu;
var splitQuery = (query) => (query.match(RUNS) ?? []).flatMap((run) => {
  const { terms, titleterms } = Search._index, words = [];
  for (let rest = run; /^\p{Script=Han}/u.test(rest);) {
    let end = rest.length;
    while (end > 1 && !(rest.slice(0, end) in terms || rest.slice(0, end) in titleterms)) end -= 1;
    if (end > 1) words.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return words.length ? words : [run];
});
