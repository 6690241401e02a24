import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import fc from 'fast-check'
import { readBearerAssertion } from '../../../src/identity/saml/assertion.ts'
import { SamlProblem } from '../../../src/identity/saml/problem.ts'
import { readResponse } from '../../../src/identity/saml/response.ts'
import type { Expectation, SamlStatement } from '../../../src/identity/saml/statement.ts'
import { createTestClock } from '../../support/clock.ts'
import { base64Of, base64UrlOf, SAML } from '../../support/saml/saml-xml.ts'
import { createSamlIdp } from '../../support/saml/saml-idp.ts'
import { encrypted, samlTestKey } from '../../support/saml/saml-signing.ts'
import { mutated } from '../saml-changes.ts'
import { target, verdictOf } from '../target.ts'

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
  maxAuthenticationAge: 864_000,
  now: clock.now(),
}
const attributes = [{ name: 'mail', values: ['person@example.org'] }]
const fromPage = (text: string): SamlStatement => readResponse(base64Of(text), expected)
const fromClient = (text: string): SamlStatement => readBearerAssertion(base64UrlOf(text), expected)

/** A signed assertion whose name is encrypted. */
async function withEncryptedName(): Promise<string> {
  const name = `<saml:NameID xmlns:saml="${SAML.assertion}" Format="${SAML.persistentName}">person-1</saml:NameID>`
  const data = await encrypted(name, { certificate: ours.certificate })
  const assertion = idp.assertion({ attributes })
  return idp.sign(assertion.replace(/<saml:NameID.*<\/saml:NameID>/, `<saml:EncryptedID>${data}</saml:EncryptedID>`))
}

const MESSAGES = [
  { text: await idp.response({ attributes }), read: fromPage },
  { text: await idp.response({ attributes, signs: ['response'] }), read: fromPage },
  { text: await idp.response({ attributes, signs: ['assertion', 'response'] }), read: fromPage },
  { text: await idp.response({ attributes, encrypts: { certificate: ours.certificate } }), read: fromPage },
  { text: idp.signedAssertion({ attributes }), read: fromClient },
  { text: idp.responseAround(await withEncryptedName(), { signs: [] }), read: fromPage },
].map(message => ({ ...message, wanted: message.read(message.text) }))

/**
 * Genuine SAML messages, changed without the key: what the provider signed is read, or nothing. The input is which
 * message and how it is changed, since keys and ids are others in each run.
 */
export const samlMessage = target({
  name: 'saml-message',
  inputs: fc.tuple(fc.nat(MESSAGES.length - 1), fc.array(fc.nat(), { minLength: 12, maxLength: 12, size: 'max' })),
  check([which, numbers]) {
    const message = MESSAGES[which % MESSAGES.length]
    assert.ok(message)
    let next = 0
    const pick = (bound: number): number => {
      const number = numbers[next % numbers.length] ?? 0
      next += 1
      return bound === 0 ? 0 : (number + Math.floor(next / numbers.length)) % bound
    }
    const text = numbers.length === 0 ? message.text : mutated(message.text, pick)
    return verdictOf(
      [SamlProblem],
      () => message.read(text),
      read => assert.deepEqual(read, message.wanted),
    )
  },
})
