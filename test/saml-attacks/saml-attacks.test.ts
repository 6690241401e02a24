// Runs the collection against a real server in both modes, at the assertion consumer and the token endpoint. See README.md.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../support/oauth.ts'
import { thinned } from '../support/thinning.ts'
import type { Endpoint } from './attack.ts'
import { CLASSES } from './classes.ts'
import type { SamlTarget } from './latchkey.ts'
import { startSamlTarget } from './latchkey.ts'
import { classesFor } from './means.ts'

const ENDPOINTS: readonly Endpoint[] = ['acs', 'bearer']

for (const mode of MODES) {
  describe(`SAML attacks in ${mode}`, () => {
    let target: SamlTarget
    before(async () => {
      target = await startSamlTarget(mode)
    })
    after(() => target.stop())

    for (const endpoint of ENDPOINTS) {
      describe(endpoint === 'acs' ? 'at the assertion consumer' : 'at the token endpoint', () => {
        for (const { name, controls, attacks: all } of classesFor({ endpoint, encryptTo: 'read from the metadata' })) {
          const attacks = [...thinned(all, 1)]
          it(`${name}: accepts ${controls.length} genuine messages, refuses ${attacks.length} forged ones`, async () => {
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
  it('lists every class', () => {
    const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
    for (const { name, attacks } of CLASSES) assert.ok(readme.includes(`| ${name} | ${attacks.length} |`), name)
  })
})
