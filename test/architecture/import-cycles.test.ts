import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { forbiddenCycles } from './import-cycles.ts'
import type { SourceFile } from './rules.ts'

describe('forbiddenCycles', () => {
  const value = (path: string, to: string): SourceFile => ({ path, text: `import { x } from '${to}'\n` })
  const type = (path: string, to: string): SourceFile => ({ path, text: `import type { X } from '${to}'\n` })
  const cases: readonly { name: string; files: readonly SourceFile[]; found: number }[] = [
    {
      name: 'two files with value imports',
      files: [value('src/a/b.ts', './c.ts'), value('src/a/c.ts', './b.ts')],
      found: 1,
    },
    {
      name: 'two files of a folder, one with a type import',
      files: [value('src/a/b.ts', './c.ts'), type('src/a/c.ts', './b.ts')],
      found: 0,
    },
    {
      name: 'two folders, one with a type import',
      files: [value('src/a/b.ts', '../c/d.ts'), type('src/c/d.ts', '../a/b.ts')],
      found: 1,
    },
    {
      name: 'three files, one with an inline type import',
      files: [
        value('src/a/b.ts', './c.ts'),
        value('src/a/c.ts', './d.ts'),
        { path: 'src/a/d.ts', text: "import { type X } from './b.ts'\n" },
      ],
      found: 0,
    },
    { name: 'files without a cycle', files: [value('src/a/b.ts', './c.ts'), value('src/a/d.ts', './c.ts')], found: 0 },
  ]
  for (const { name, files, found } of cases) {
    it(`finds ${found} in ${name}`, () => assert.equal(forbiddenCycles(files).length, found))
  }
})
