import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SourceFile } from './rules.ts'
import { unusedExports } from './unused-exports.ts'

describe('unused exports', () => {
  const exporting: SourceFile = { path: 'src/a/b.ts', text: 'export const x = 1\nexport interface Y {}\n' }
  const users: readonly { name: string; text: string; unused: readonly string[] }[] = [
    { name: 'that does not exist', text: '', unused: ['src/a/b.ts: x', 'src/a/b.ts: Y'] },
    { name: 'that imports one', text: "import { x } from './b.ts'\n", unused: ['src/a/b.ts: Y'] },
    {
      name: 'that imports a type under another name',
      text: "import type { Y as Z } from './b.ts'\n",
      unused: ['src/a/b.ts: x'],
    },
    { name: 'that passes everything on', text: "export * from './b.ts'\n", unused: [] },
    { name: 'that loads it later', text: "const { x } = await import('./b.ts')\n", unused: ['src/a/b.ts: Y'] },
    {
      name: 'that has another file of the name',
      text: "import { x, Y } from '../b.ts'\n",
      unused: ['src/a/b.ts: x', 'src/a/b.ts: Y'],
    },
  ]
  for (const { name, text, unused } of users) {
    it(`are found for a user ${name}`, () =>
      assert.deepEqual(unusedExports([exporting, { path: 'src/a/user.ts', text }]), unused))
  }
})
