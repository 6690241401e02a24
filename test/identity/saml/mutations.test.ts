import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readBearerAssertion } from '../../../src/identity/saml/assertion.ts'
import { SamlProblem } from '../../../src/identity/saml/problem.ts'
import { readResponse } from '../../../src/identity/saml/response.ts'
import type { Expectation, SamlStatement } from '../../../src/identity/saml/statement.ts'
import { createTestClock } from '../../support/clock.ts'
import { base64Of, base64UrlOf, createSamlIdp, samlTestKey } from '../../support/saml-idp.ts'
import { mutated } from './mutations.ts'
import type { Pick } from './mutations.ts'

const clock = createTestClock()
const to = { entityId: 'latchkey', recipient: 'http://localhost:8080/saml/SSO/alias/latchkey' }
const idp = createSamlIdp({ clock, to })
const ours = samlTestKey()
const expected: Expectation = {
  provider: { entityId: idp.entityId, signingKeys: [createPublicKey(idp.key.certificate)] },
  ownEntityId: 'latchkey',
  decryptionKeys: [createPrivateKey(ours.privateKey)],
  recipient: to.recipient,
  inResponseTo: 'none',
  now: clock.now(),
}
const attributes = [{ name: 'mail', values: ['person@example.org'] }]
const RUNS = 400

function never(name: string, xml: () => Promise<string>, read: (xml: string) => SamlStatement): void {
  it(`${name}: is what the provider signed, or refused, whatever is changed`, async () => {
    const genuine = await xml()
    const wanted = read(genuine)
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat()), numbers => {
        const pick: Pick = bound => (bound === 0 ? 0 : Number(numbers.next().value) % bound)
        const changed = mutated(genuine, pick)
        try {
          assert.deepEqual(read(changed), wanted)
        } catch (error) {
          if (!(error instanceof SamlProblem)) throw error
        }
      }),
      { numRuns: RUNS },
    )
  })
}

describe('a changed message', () => {
  for (const signs of [['assertion'], ['response'], ['assertion', 'response']] as const) {
    never(
      `a response with a signed ${signs.join(' and ')}`,
      () => idp.response({ signs, attributes }),
      xml => readResponse(base64Of(xml), expected),
    )
  }
  never(
    'an encrypted response',
    () => idp.response({ attributes, encrypts: { certificate: ours.certificate } }),
    xml => readResponse(base64Of(xml), expected),
  )
  never(
    'a bearer assertion',
    () => Promise.resolve(idp.signedAssertion({ attributes })),
    xml => readBearerAssertion(base64UrlOf(xml), expected),
  )
})
