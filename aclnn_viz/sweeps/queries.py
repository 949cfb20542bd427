"""SQL queries of the reports on a sweep (many test cases, judged and recorded in a store)."""

CASES = "SELECT operator, outcome, note, count(*) FROM cases WHERE run = ? GROUP BY operator, outcome, note"
SECONDS = "SELECT total(seconds) FROM cases WHERE run = ?"
SOFTWARE = "SELECT DISTINCT software FROM cases WHERE run = ? ORDER BY 1"
# places: one row per operator, output, format and mode
PLACES = """
SELECT operator, output, dtype, mode, count(*), sum(verdict = 'wrong'), max(used), max(max_ulp), max(mere)
FROM cases JOIN outputs USING (key) WHERE run = ? GROUP BY operator, output, dtype, mode"""
# the worst case of each place, the worst place first
WORST_CASES = """
SELECT operator, output, dtype, mode, wrong, used, recipe, note FROM (SELECT *, verdict = 'wrong' AS wrong, row_number() OVER
  (PARTITION BY operator, output, dtype, mode ORDER BY verdict = 'wrong' DESC, used DESC, key) AS number
  FROM cases JOIN outputs USING (key) WHERE run = ?) WHERE number = 1 ORDER BY wrong DESC, used DESC"""
_SHARED = "cases AS c JOIN other.cases AS d ON c.run = ? AND d.run = ? AND d.recipe = c.recipe"
# outputs that two runs share, with their changes; places with the largest share of newly wrong
# cases come first
_PAIRS = f"""
SELECT c.operator, o.output, c.dtype, c.mode, c.recipe, o.bits != p.bits AS bits, o.verdict = 'wrong' AND p.verdict != 'wrong' AS
  broken, p.verdict = 'wrong' AND o.verdict != 'wrong' AS mended
FROM {_SHARED} JOIN outputs AS o ON o.key = c.key JOIN other.outputs AS p ON p.key = d.key AND p.output = o.output"""
CHANGES = f"""
SELECT operator, output, dtype, mode, count(*), sum(bits), sum(broken), sum(mended)
FROM ({_PAIRS}) GROUP BY operator, output, dtype, mode ORDER BY avg(broken) DESC, sum(broken) DESC"""
NEWLY_WRONG = f"""
SELECT recipe FROM ({_PAIRS}) WHERE operator = ? AND output = ? AND dtype = ? AND mode = ? AND broken LIMIT 1"""
MOVED = f"SELECT c.operator, d.outcome, c.outcome, count(*) FROM {_SHARED} WHERE c.outcome != d.outcome GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
