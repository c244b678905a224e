// Builds the page into assets/, which lies in the tree and in the binary. `--check` tells whether it is what would be built.
import { build } from 'esbuild';
import { readFile, mkdir, writeFile } from 'node:fs/promises';

const entries = ['src/page.jsx', 'src/page.css', 'src/index.html'];
const { outputFiles } = await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: entries,
  outdir: 'assets',
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  loader: { '.html': 'copy' },
  legalComments: 'none',
  write: false,
});

if (process.argv.includes('--check')) {
  for (const { path, contents } of outputFiles) {
    const committed = await readFile(path).catch(() => undefined);
    if (!committed?.equals(contents)) {
      console.error(`${path} is not what the sources give: npm run build`);
      process.exitCode = 1;
    }
  }
} else {
  await mkdir(`${import.meta.dirname}/assets`, { recursive: true });
  for (const { path, contents } of outputFiles) {
    await writeFile(path, contents);
    console.log(`${path}  ${contents.length} bytes`);
  }
}
