// The most telling scenarios of `npm run chaos`, under a mixed load: nothing that was acknowledged is lost, nothing that was
// refused has happened by half, no answer is a fault, and all is well soon after.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SCENARIOS } from '../chaos/scenarios.ts'
import { runWithTrouble, openScene, settle } from '../chaos/scene.ts'

const isFast = process.env['LATCHKEY_TEST_FAST'] !== undefined

/** Scenarios of a row run one after another in one deployment. */
const ROWS = [
  { where: 'two nodes on one PostgreSQL', names: ['partition', 'pause-node'] },
  { where: 'a node with SQLite', names: ['full-disk'] },
]

describe('Injected faults', { concurrency: 2, skip: isFast && 'a fast run starts no server' }, () => {
  for (const { where, names } of ROWS) {
    it(`do not violate consistency: ${names.join(', ')} (${where})`, async t => {
      const scenarios = names.map(name => SCENARIOS.find(scenario => scenario.name === name))
      const [first] = scenarios
      assert.ok(first)
      const scene = await openScene(first.place)
      if (scene === undefined) return t.skip('only root may mount a file system to fill')
      t.after(() => scene.close())
      await settle(scene)
      for (const scenario of scenarios) {
        assert.ok(scenario)
        const { done, refused, broken, recoveryMs } = await runWithTrouble(scene, scenario.trouble)
        t.diagnostic(
          `${scenario.name}: ${done} done, ${refused} refused, ${broken} broken, well ${recoveryMs | 0} ms after`,
        )
      }
      const { wrong, compared } = await scene.finish()
      t.diagnostic(compared)
      assert.deepEqual(wrong, [])
      return undefined
    })
  }
})
