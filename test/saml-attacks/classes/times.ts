import { addSeconds } from '../../../src/base/clock.ts'
import type { AttackClass, Means } from '../attack.ts'
import { genuine, replaced } from '../forging.ts'

const at = ({ now }: Means, seconds: number): Date => addSeconds(now, seconds)
/** Any time of the confirmation, as text. */
const until = (means: Means, text: string): string =>
  replaced(genuine(means), /(?<=<saml:SubjectConfirmationData[^>]*NotOnOrAfter=")[^"]*/, text)

/** What is too old, too new, or good for ever. */
export const times: AttackClass = {
  name: 'expired and early',
  sources: ['SAML Core 2.5.1.2', 'SAML Profiles 4.1.4.3', 'CVE-2018-14637'],
  controls: [
    {
      name: 'expired for less than the clocks may differ',
      forge: means => genuine(means, { notOnOrAfter: at(means, -30), conditions: { notOnOrAfter: at(means, -30) } }),
    },
    {
      name: 'early by less than the clocks may differ',
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
      name: 'a confirmation without end',
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
      name: 'an end that is not a time, changed afterwards',
      reasons: ['bad-signature'],
      forge: means => until(means, 'never'),
    },
    {
      name: 'an end that is not a time, signed',
      reasons: ['not-xml'],
      forge: means => unreadable(means, 'never'),
    },
    { name: 'an empty end, signed', reasons: ['not-xml'], forge: means => unreadable(means, '') },
    {
      name: 'an end that is a number, signed',
      reasons: ['not-xml'],
      forge: means => unreadable(means, '99999999999999'),
    },
    {
      name: 'an end on a day that is not, signed',
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
