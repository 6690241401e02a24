import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SourceFile } from './rules.ts'
import { unusedExports } from './unused-exports.ts'

describe('unusedExports', () => {
  const exporting: SourceFile = { path: 'src/a/b.ts', text: 'export const x = 1\nexport interface Y {}\n' }
  const users: readonly { name: string; text: string; unused: readonly string[] }[] = [
    { name: 'no other file', text: '', unused: ['src/a/b.ts: x', 'src/a/b.ts: Y'] },
    { name: 'an import of one export', text: "import { x } from './b.ts'\n", unused: ['src/a/b.ts: Y'] },
    {
      name: 'a type import under another name',
      text: "import type { Y as Z } from './b.ts'\n",
      unused: ['src/a/b.ts: x'],
    },
    { name: 'an export of everything', text: "export * from './b.ts'\n", unused: [] },
    { name: 'a dynamic import', text: "const { x } = await import('./b.ts')\n", unused: ['src/a/b.ts: Y'] },
    {
      name: 'an import of another file with the same name',
      text: "import { x, Y } from '../b.ts'\n",
      unused: ['src/a/b.ts: x', 'src/a/b.ts: Y'],
    },
  ]
  for (const { name, text, unused } of users) {
    it(`with ${name}`, () => assert.deepEqual(unusedExports([exporting, { path: 'src/a/user.ts', text }]), unused))
  }
})
