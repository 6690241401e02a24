// Changes genuine SAML messages at random and lets the reader read them: it must refuse each, or read what the provider
// signed, and take no long time. `node scripts/fuzz-saml.ts [messages] [seed]`; a failure prints the message. The same changes
// as in test/identity/saml/mutations.test.ts, which makes a few hundred of them.
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { readBearerAssertion } from '../src/identity/saml/assertion.ts'
import { SamlProblem } from '../src/identity/saml/problem.ts'
import { readResponse } from '../src/identity/saml/response.ts'
import type { Expectation, SamlStatement } from '../src/identity/saml/statement.ts'
import { mutated } from '../test/identity/saml/mutations.ts'
import { createTestClock } from '../test/support/clock.ts'
import { base64Of, base64UrlOf, createSamlIdp, samlTestKey } from '../test/support/saml-idp.ts'

const [count = 100_000, seed = 1] = process.argv.slice(2).map(Number)

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
const fromPage = (xml: string): SamlStatement => readResponse(base64Of(xml), expected)
const fromClient = (xml: string): SamlStatement => readBearerAssertion(base64UrlOf(xml), expected)

const messages = [
  { xml: await idp.response({ attributes }), read: fromPage },
  { xml: await idp.response({ attributes, signs: ['response'] }), read: fromPage },
  { xml: await idp.response({ attributes, signs: ['assertion', 'response'] }), read: fromPage },
  { xml: await idp.response({ attributes, encrypts: { certificate: ours.certificate } }), read: fromPage },
  { xml: idp.signedAssertion({ attributes }), read: fromClient },
].map(message => ({ ...message, wanted: message.read(message.xml) }))

/** mulberry32: the same numbers for the same seed. */
let state = seed
function pick(bound: number): number {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return bound === 0 ? 0 : ((mixed ^ (mixed >>> 14)) >>> 0) % bound
}

const reasons = new Map<string, number>()
let longest = 0
for (let done = 0; done < count; done += 1) {
  const message = messages[done % messages.length]
  if (!message) break
  const changed = mutated(message.xml, pick)
  const begin = performance.now()
  let outcome = 'read'
  try {
    if (!isDeepStrictEqual(message.read(changed), message.wanted)) outcome = 'ACCEPTED'
  } catch (error) {
    outcome = error instanceof SamlProblem ? error.reason : 'THROWN'
  }
  longest = Math.max(longest, performance.now() - begin)
  reasons.set(outcome, (reasons.get(outcome) ?? 0) + 1)
  if (outcome === 'ACCEPTED' || outcome === 'THROWN') {
    console.error(`${outcome}, message ${done} of seed ${seed}:\n${changed}`)
    process.exitCode = 1
    break
  }
}
console.log(`${[...reasons.values()].reduce((sum, each) => sum + each, 0)} messages, seed ${seed}`)
console.log(`the longest took ${longest.toFixed(0)} ms`)
for (const [reason, times] of [...reasons].toSorted((a, b) => b[1] - a[1])) console.log(`${reason}: ${times}`)
