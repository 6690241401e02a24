import type { AttackClass, Means } from '../attack.ts'
import { genuine, messageOf, signedAssertion, signedResponse } from '../forging.ts'

/** The same signed assertion for the same means, in any message. */
function rewrapped(wrap: (signed: string, means: Means, count: number) => string): (means: Means) => string {
  const made = new WeakMap<Means, { readonly signed: string; count: number }>()
  return means => {
    const own = made.get(means) ?? { signed: signedAssertion(means), count: 0 }
    made.set(means, own)
    own.count += 1
    return wrap(own.signed, means, own.count)
  }
}

/** Repeated messages. At the consumer, the second one is for another request with the same id. */
export const replay: AttackClass = {
  name: 'replay',
  sources: ['SAML Profiles 4.1.4.5', 'RFC 7522 3 (8)', 'CVE-2026-18967'],
  controls: [{ name: 'a new assertion', forge: genuine }],
  attacks: [
    {
      name: 'the same message again',
      isReplay: true,
      reasons: ['replay'],
      forge: rewrapped((signed, means) => messageOf(means, signed, { responseId: means.unique })),
    },
    {
      name: 'the same assertion in another response',
      only: 'acs',
      isReplay: true,
      reasons: ['replay'],
      forge: rewrapped((signed, means) => messageOf(means, signed)),
    },
    {
      name: 'the same assertion with more blanks',
      isReplay: true,
      reasons: ['replay'],
      forge: rewrapped((signed, means, count) =>
        messageOf(means, signed.replace('<saml:Assertion ', `<saml:Assertion${' '.repeat(count)}`)),
      ),
    },
    {
      name: 'another assertion of the same id',
      isReplay: true,
      reasons: ['replay'],
      forge: means => genuine(means, { id: means.unique }),
    },
    {
      name: 'the same response, signed as a whole',
      only: 'acs',
      isReplay: true,
      reasons: ['replay'],
      forge: means => signedResponse(means, { id: means.unique, responseId: `${means.unique}-response` }),
    },
    {
      name: 'an assertion with OneTimeUse',
      isReplay: true,
      reasons: ['replay'],
      forge: means => genuine(means, { id: means.unique, moreConditions: '<saml:OneTimeUse/>' }),
    },
  ],
}
