import { addSeconds } from '../../../src/base/clock.ts'
import type { AttackClass, Means } from '../attack.ts'
import { genuine, replaced } from '../forging.ts'

const at = ({ now }: Means, seconds: number): Date => addSeconds(now, seconds)
/** Any time of the confirmation, as text. */
const until = (means: Means, text: string): string =>
  replaced(genuine(means), /(?<=<saml:SubjectConfirmationData[^>]*NotOnOrAfter=")[^"]*/, text)

/** Messages that are expired, not yet valid or valid forever. */
export const times: AttackClass = {
  name: 'expired and early',
  sources: ['SAML Core 2.5.1.2', 'SAML Profiles 4.1.4.3', 'CVE-2018-14637'],
  controls: [
    {
      name: 'expired within the clock skew',
      forge: means => genuine(means, { notOnOrAfter: at(means, -30), conditions: { notOnOrAfter: at(means, -30) } }),
    },
    {
      name: 'not yet valid within the clock skew',
      forge: means => genuine(means, { conditions: { notBefore: at(means, 30) }, issueInstant: at(means, 30) }),
    },
  ],
  attacks: [
    {
      name: 'conditions expired',
      reasons: ['expired'],
      forge: means => genuine(means, { conditions: { notBefore: at(means, -900), notOnOrAfter: at(means, -600) } }),
    },
    {
      name: 'confirmation expired',
      reasons: ['expired'],
      forge: means => genuine(means, { notOnOrAfter: at(means, -600) }),
    },
    {
      name: 'conditions not yet valid',
      reasons: ['not-yet-valid'],
      forge: means => genuine(means, { conditions: { notBefore: at(means, 600), notOnOrAfter: at(means, 900) } }),
    },
    {
      name: 'a confirmation with NotBefore',
      reasons: ['subject'],
      forge: means => genuine(means, { confirmationNotBefore: at(means, 600) }),
    },
    {
      name: 'a confirmation without NotOnOrAfter',
      reasons: ['subject'],
      forge: means => genuine(means, { notOnOrAfter: null }),
    },
    {
      name: 'issued in the future',
      reasons: ['not-yet-valid'],
      forge: means => genuine(means, { issueInstant: at(means, 3600) }),
    },
    {
      name: 'the session at the provider has ended',
      reasons: ['expired'],
      forge: means => genuine(means, { sessionNotOnOrAfter: at(means, -600) }),
    },
    {
      name: 'signed in at the provider in the future',
      reasons: ['not-yet-valid'],
      forge: means => genuine(means, { authnInstant: at(means, 3600) }),
    },
    {
      name: 'an invalid NotOnOrAfter, changed after signing',
      reasons: ['bad-signature'],
      forge: means => until(means, 'never'),
    },
    {
      name: 'an invalid NotOnOrAfter, signed',
      reasons: ['not-xml'],
      forge: means => unreadable(means, 'never'),
    },
    { name: 'an empty NotOnOrAfter, signed', reasons: ['not-xml'], forge: means => unreadable(means, '') },
    {
      name: 'a numeric NotOnOrAfter, signed',
      reasons: ['not-xml'],
      forge: means => unreadable(means, '99999999999999'),
    },
    {
      name: 'a NotOnOrAfter on a nonexistent day, signed',
      reasons: ['not-xml'],
      forge: means => unreadable(means, '2099-02-31T00:00:00Z'),
    },
    {
      name: 'the conditions begin after their end',
      reasons: ['not-yet-valid'],
      forge: means => genuine(means, { conditions: { notBefore: at(means, 200), notOnOrAfter: at(means, 100) } }),
    },
  ],
}

/** A signed assertion whose confirmation ends at the text. */
function unreadable(means: Means, text: string): string {
  const { endpoint, idp, parts } = means
  const assertion = replaced(idp.assertion(parts), /(?<=<saml:SubjectConfirmationData[^>]*NotOnOrAfter=")[^"]*/, text)
  const signed = idp.sign(assertion)
  return endpoint === 'acs' ? idp.responseAround(signed, { ...parts, signs: [] }) : signed
}
