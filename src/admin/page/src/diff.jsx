// Differences: lines with their sign, so that colour is not all that tells them apart.
const WORDS = { '+': 'added', '-': 'removed', '~': 'changed' };

/** Pairs of lines that are compared at most: what a proposal of the largest size has when its lines are as short as words. */
const MAX_PAIRS = 1_000_000;

/** The lines of two texts: `[sign, line]`, by their longest common subsequence. */
export function lines(before, after) {
  const [a, b] = [before, after].map((text) => text.split('\n'));
  if (a.length * b.length > MAX_PAIRS) return [...a.map((line) => ['-', line]), ...b.map((line) => ['+', line])];
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push([' ', a[i++]]);
      j++;
    } else if (i < a.length && (j >= b.length || common[i + 1][j] >= common[i][j + 1])) found.push(['-', a[i++]]);
    else found.push(['+', b[j++]]);
  }
  return found;
}

/** A unified difference as lines. Its file headers are left out: what is compared is said above it. */
export function unified(text) {
  return text
    .split('\n')
    .slice(2)
    .filter((line) => line !== '')
    .map((line) => (line.startsWith('@@') ? ['@', line.replace(/^@@ -(\d+).*$/, 'line $1')] : [line[0], line.slice(1)]));
}

export function Diff({ rows, label }) {
  return (
    <div class="diff" role="group" aria-label={label} tabIndex={0}>
      {rows.map(([sign, line, note]) =>
        sign === '@' ? (
          <div class="hunk">{line}{note && <span class="note">{note}</span>}</div>
        ) : (
          <div class={WORDS[sign] ?? 'same'}>
            <span class="sign" aria-hidden="true">{sign}</span>
            {WORDS[sign] && <span class="unseen">{WORDS[sign]}: </span>}
            <code>{line || ' '}</code>
          </div>
        ),
      )}
    </div>
  );
}
