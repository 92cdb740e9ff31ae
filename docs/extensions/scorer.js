// Which results of a search come first: guides before reference, and reference before the history of the project.
const WEIGHTS = [
  [/^(guide|recipes|notebooks)\//, 2],
  [/^(index|modules|changes|contributing|releasing|guide\/extending|decisions\/.*)$/, 0.3],
];

var Scorer = {
  score: ([docname, , , , score]) => WEIGHTS.reduce((all, [page, weight]) => (page.test(docname) ? all * weight : all), score),
  // The rest is what Sphinx has.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
