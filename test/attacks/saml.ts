// The best-known attacks; test/saml-attacks has all of them.
import assert from 'node:assert/strict'
import { deflateRawSync } from 'node:zlib'
import { samlTestKey } from '../support/saml/saml-signing.ts'
import type { AttackClass, Endpoint, SamlAttack } from '../saml-attacks/attack.ts'
import { algorithms } from '../saml-attacks/classes/algorithms.ts'
import { audience } from '../saml-attacks/classes/audience.ts'
import { comments } from '../saml-attacks/classes/comments.ts'
import { encryption } from '../saml-attacks/classes/encryption.ts'
import { entities } from '../saml-attacks/classes/entities.ts'
import { inResponseTo } from '../saml-attacks/classes/in-response-to.ts'
import { keys } from '../saml-attacks/classes/keys.ts'
import { replay } from '../saml-attacks/classes/replay.ts'
import { signedInfo } from '../saml-attacks/classes/signed-info.ts'
import { voidCanonicalization } from '../saml-attacks/classes/void-canonicalization.ts'
import { wrapping } from '../saml-attacks/classes/wrapping.ts'
import { messageOf, victimAssertion } from '../saml-attacks/forging.ts'
import type { SamlTarget } from '../saml-attacks/latchkey.ts'
import { keyOfZone, PATHS, startSamlTarget } from '../saml-attacks/latchkey.ts'
import { encodedFor, fits } from '../saml-attacks/means.ts'
import type { Attack } from './attack.ts'
import { stopwatch } from '../../src/base/clock.ts'
import { cpuStopwatch } from '../support/cpu-time.ts'

const ENDPOINTS: readonly Endpoint[] = ['acs', 'bearer']

/** Runs the attack against its own server; the collection is sent to servers of both modes. */
const against = (attempt: (target: SamlTarget) => Promise<void>) => async (): Promise<void> => {
  const target = await startSamlTarget('standard')
  try {
    await attempt(target)
    assert.deepEqual(target.server.faults, [])
  } finally {
    await target.stop()
  }
}

/** Sends the attacks of the class to each applicable endpoint: all, or those whose name starts with the prefix. */
const sending = ({ attacks }: Pick<AttackClass, 'attacks'>, names: readonly string[] = ['']) =>
  against(async target => {
    for (const endpoint of ENDPOINTS) {
      for (const attack of chosen(attacks, names)) {
        if (fits(attack, target.at(endpoint))) assert.deepEqual(await target.complaints(endpoint, attack), [])
      }
    }
  })

function chosen(attacks: readonly SamlAttack[], names: readonly string[]): readonly SamlAttack[] {
  const found = attacks.filter(({ name }) => names.some(start => name.startsWith(start)))
  assert.ok(found.length >= names.length)
  return found
}

/** Forged SAML responses and assertions. */
export const samlAttacks: readonly Attack[] = [
  {
    attack: 'moves a signed assertion aside and puts a forged one in its place (XSW1 to XSW8)',
    outcome: 'nobody is signed in: there must be one assertion in one place',
    attempt: sending(wrapping, ['XSW']),
  },
  {
    attack: 'hides a forged assertion in a second signature, which verification ignores',
    outcome: 'nobody is signed in: place and structure of a signature are fixed',
    attempt: sending(signedInfo, ['a second signature', 'a signed error response', 'a forged subject']),
  },
  {
    attack: 'signs with their own key, and includes the certificate',
    outcome: "nobody is signed in: keys are taken from the provider's metadata",
    attempt: sending(keys),
  },
  {
    attack: 'signs with SHA-1, with HMAC by the public key, or not at all',
    outcome: 'nobody is signed in: only listed algorithms are accepted',
    attempt: sending(algorithms, ['RSA with', 'HMAC', 'none']),
  },
  {
    attack: 'makes canonicalization fail, so that an empty text was signed',
    outcome: 'nobody is signed in: the signed bytes must be an element, and only they are read',
    attempt: sending(voidCanonicalization),
  },
  {
    attack: "truncates their own name to another user's by a comment or a processing instruction",
    outcome: 'the other user is not signed in',
    attempt: sending(comments),
  },
  {
    attack: 'defines entities that expand, read files or send requests',
    outcome: 'the document is refused before parsing',
    attempt: sending(entities),
  },
  {
    attack: 'encrypts a forged assertion to the server',
    outcome: 'nobody is signed in: decrypted assertions must be signed',
    attempt: sending(encryption, ['an unsigned', 'a signed response', 'an encrypted forged', 'an assertion signed']),
  },
  {
    attack: 'modifies an encrypted assertion repeatedly, to decrypt it by the responses',
    outcome: 'all responses are equal, after the same time',
    attempt: against(async target => {
      const names = [
        'a bit of',
        'encrypted to another key',
        'not XML',
        'an unsigned',
        'an assertion signed',
        'two assertions',
      ]
      const answers = new Set<string>()
      for (const attack of chosen(encryption.attacks, names)) {
        const elapsed = stopwatch()
        const { answer } = await target.send('acs', attack)
        assert.ok(elapsed() >= 100)
        const text = answer.text.replaceAll(/nonce="[^"]*"|value="[^"]*"|[?&]t=\w+/g, '')
        answers.add(`${answer.status} ${String(answer.headers['location'])} ${text}`)
      }
      assert.equal(answers.size, 1)
    }),
  },
  {
    attack: 'presents a response for another service or to another request',
    outcome: 'no user is signed in',
    attempt: against(async target => {
      for (const attack of [...audience.attacks, ...inResponseTo.attacks]) {
        assert.deepEqual(await target.complaints('acs', attack), [])
      }
      for (const attack of audience.attacks) assert.deepEqual(await target.complaints('bearer', attack), [])
    }),
  },
  {
    attack: 'presents an assertion a second time',
    outcome: 'it is accepted once',
    attempt: sending(replay),
  },
  {
    attack: 'registers, in their own zone, a provider with the same name as one of the default zone',
    outcome: 'neither its messages nor those for other zones are accepted across zones',
    attempt: against(async target => {
      for (const endpoint of ENDPOINTS) {
        const forged = await target.send(endpoint, {
          name: 'signed by the provider of the zone',
          forge: means => messageOf(means, means.idp.sign(victimAssertion(means), { key: keyOfZone })),
        })
        assert.equal(forged.externalUser, undefined)
        assert.deepEqual(forged.reasons, ['bad-signature'])

        const { idp, parts } = forged.means
        const xml = messageOf(forged.means, idp.sign(idp.assertion(parts), { key: keyOfZone }))
        const text = encodedFor(endpoint, xml)
        const form =
          endpoint === 'acs'
            ? { SAMLResponse: text }
            : { grant_type: 'urn:ietf:params:oauth:grant-type:saml2-bearer', assertion: text }
        const path = PATHS[endpoint].replace('latchkey', 'z1.latchkey')
        const seen = target.server.events.length
        const host = 'z1.localhost:8080'
        const answer = await target.server.send(path, { form, host, basic: ['carrier', 'secret'] })
        assert.ok(answer.status >= 400 || answer.location().pathname === '/saml_error', answer.text)
        const types = target.server.events.slice(seen).map(({ type }) => type)
        assert.ok(!types.includes('UserAuthenticationSuccess'))
      }
    }),
  },
  {
    attack: 'sends a validly signed response of an unregistered provider',
    outcome: 'no user is signed in',
    attempt: against(async target => {
      for (const endpoint of ENDPOINTS) {
        const { externalUser } = await target.send(endpoint, {
          name: 'an unknown provider',
          forge: means => {
            const issuer = 'https://nobody.example/saml'
            const assertion = means.idp.sign(victimAssertion(means, { issuer }), { key: samlTestKey() })
            return messageOf(means, assertion, { responseIssuer: issuer })
          },
        })
        assert.equal(externalUser, undefined)
      }
    }),
  },
  {
    attack: 'sends a logout message of a few kilobytes that inflates to ten megabytes',
    outcome: 'it is refused before it is fully inflated',
    attempt: against(async ({ server }) => {
      const message = deflateRawSync(Buffer.alloc(10_000_000, 'a')).toString('base64')
      assert.ok(message.length < 16_000)
      const elapsed = cpuStopwatch()
      for (const kind of ['SAMLRequest', 'SAMLResponse']) {
        const answer = await server.send('/saml/SingleLogout/alias/latchkey', { query: { [kind]: message } })
        assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${answer.text}`)
      }
      assert.ok(elapsed() < 5000, `${elapsed()} ms`)
    }),
  },
]
