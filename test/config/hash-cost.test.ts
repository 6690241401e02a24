import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const smtp = { host: 'localhost' }
const load = (passwords: object, host = '0.0.0.0') =>
  loadText(folder, JSON.stringify({ base_url: 'https://id.example', listen: { host }, passwords, smtp }))

describe('The cost of password hashes', () => {
  it('defaults to 19 MiB and two passes', async () => {
    const { hashCost, warnings } = await loadText(folder, JSON.stringify({ smtp }))
    assert.deepEqual(hashCost, { memoryKib: 19_456, passes: 2 })
    assert.deepEqual(warnings, [])
  })

  const enough = [
    { given: { memory_kib: 47_104, passes: 1 }, want: { memoryKib: 47_104, passes: 1 } },
    { given: { memory_kib: 7168, passes: 5 }, want: { memoryKib: 7168, passes: 5 } },
    { given: { memory_kib: 65_536 }, want: { memoryKib: 65_536, passes: 2 } },
    { given: { passes: 4 }, want: { memoryKib: 19_456, passes: 4 } },
  ]
  for (const { given, want } of enough) {
    it(`may be ${JSON.stringify(given)} on any host`, async () => {
      const { hashCost, warnings } = await load(given)
      assert.deepEqual(hashCost, want)
      assert.deepEqual(warnings, [])
    })
  }

  const cheap = [
    { memory_kib: 7167, passes: 6 },
    { memory_kib: 7168, passes: 4 },
    { passes: 1 },
    { memory_kib: 8, passes: 1 },
  ]
  for (const given of cheap) {
    it(`may be ${JSON.stringify(given)} on loopback only, with a warning`, async () => {
      assert.deepEqual(await problemsOf(load(given)), [
        'passwords: makes guessing cheap, which is allowed on loopback only: memory_kib must be at least 7168, and memory_kib times passes at least 35840',
      ])
      const { hashCost, warnings } = await load(given, 'localhost')
      assert.deepEqual(hashCost, { memoryKib: 19_456, passes: 2, ...rename(given) })
      assert.match(warnings.join('\n'), /can easily guess passwords and client secrets/)
    })
  }

  const wrong = [
    { given: { memory_kib: 7 }, problem: /^passwords\.memory_kib: / },
    { given: { memory_kib: 1_048_577 }, problem: /^passwords\.memory_kib: / },
    { given: { memory_kib: '19456' }, problem: /^passwords\.memory_kib: / },
    { given: { memory_kib: 19_456.5 }, problem: /^passwords\.memory_kib: / },
    { given: { passes: 0 }, problem: /^passwords\.passes: / },
    { given: { passes: 101 }, problem: /^passwords\.passes: / },
    { given: { lanes: 2 }, problem: /^passwords\.lanes: is not a known key/ },
  ]
  for (const { given, problem } of wrong) {
    it(`rejects ${JSON.stringify(given)}`, async () => {
      const problems = await problemsOf(load(given, 'localhost'))
      assert.equal(problems.length, 1)
      assert.match(problems[0] ?? '', problem)
    })
  }
})

const rename = ({ memory_kib: memoryKib, passes }: { memory_kib?: number; passes?: number }) => ({
  ...(memoryKib !== undefined && { memoryKib }),
  ...(passes !== undefined && { passes }),
})
