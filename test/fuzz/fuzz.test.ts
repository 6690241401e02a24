import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, it } from 'node:test'
import { TARGETS } from './targets.ts'

/** Fixed inputs; `npm run fuzz` uses others. */
const SEED = 1
const RUNS = 200

describe('Fuzzing', () => {
  for (const { name, corpus, replay, run } of TARGETS) {
    it(`${name} handles its corpus of known problems`, async () => {
      for (const { why, input } of corpus) {
        await assert.doesNotReject(async () => {
          await replay(input)
        }, why)
      }
    })

    it(`${name} keeps its properties for generated inputs`, async () => {
      const { verdicts, failure } = await run({ runs: RUNS, seed: SEED })
      assert.equal(failure, undefined)
      assert.ok(verdicts.read > 0, 'no input was accepted')
      assert.ok(verdicts.refused > 0, 'no input was rejected')
    })
  }

  it('has a corpus for each target', () => {
    const files = readdirSync(new URL('corpus', import.meta.url)).toSorted()
    assert.deepEqual(files, TARGETS.map(({ name }) => `${name}.json`).toSorted())
  })
})
