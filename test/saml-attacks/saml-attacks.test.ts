// The collection against a real server in both modes, at the assertion consumer and at the token endpoint. See README.md.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../support/oauth.ts'
import { modesOfRun } from '../support/thinning.ts'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { Endpoint } from './attack.ts'
import { CLASSES } from './classes.ts'
import type { SamlTarget } from './latchkey.ts'
import { startSamlTarget } from './latchkey.ts'
import { classesFor } from './means.ts'

/** Messages are read by the same code in both modes: a fast run sends them to each endpoint in one. */
const ENDPOINTS: readonly { readonly endpoint: Endpoint; readonly modes: readonly CompatibilityMode[] }[] = [
  { endpoint: 'acs', modes: modesOfRun('standard') },
  { endpoint: 'bearer', modes: modesOfRun('uaa') },
]

for (const mode of MODES) {
  describe(`the collection of SAML attacks, ${mode}`, () => {
    let target: SamlTarget
    before(async () => {
      target = await startSamlTarget(mode)
    })
    after(() => target.stop())

    for (const { endpoint, modes } of ENDPOINTS) {
      if (!modes.includes(mode)) continue
      describe(endpoint === 'acs' ? 'at the assertion consumer' : 'at the token endpoint', () => {
        for (const { name, controls, attacks } of classesFor({ endpoint, encryptTo: 'read from the metadata' })) {
          it(`${name}: takes ${controls.length} genuine messages, refuses ${attacks.length} forged ones`, async () => {
            const { server } = target
            const wrong: string[] = []
            for (const control of controls) {
              const { externalUser, reasons, answer } = await target.send(endpoint, control)
              if (externalUser === undefined) wrong.push(`${control.name}: refused, ${answer.status} ${reasons.join()}`)
            }
            const accounts = await server.store.users.count('svc')
            for (const attack of attacks) wrong.push(...(await target.complaints(endpoint, attack)))
            assert.deepEqual(wrong, [])
            assert.deepEqual(server.faults, [])
            const isNew = attacks.some(({ isReplay, means }) => isReplay || means !== undefined)
            if (!isNew) assert.equal(await server.store.users.count('svc'), accounts)
          })
        }
      })
    }
  })
}

describe('README.md of the collection', () => {
  it('has a row for every class', () => {
    const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
    for (const { name, attacks } of CLASSES) assert.ok(readme.includes(`| ${name} | ${attacks.length} |`), name)
  })
})
