// The table of attacks; the rows are by subject in attacks/.
import { describe, it } from 'node:test'
import { accountAttacks } from './attacks/accounts.ts'
import { approvalAttacks } from './attacks/approvals.ts'
import type { Attack } from './attacks/attack.ts'
import { auditAttacks } from './attacks/audit.ts'
import { authorizationAttacks } from './attacks/authorization.ts'
import { deviceAttacks } from './attacks/device.ts'
import { directoryAttacks } from './attacks/directories.ts'
import { externalLoginAttacks } from './attacks/external-login.ts'
import { groupAttacks } from './attacks/groups.ts'
import { identityAttacks } from './attacks/identity.ts'
import { invitationAttacks } from './attacks/invitations.ts'
import { loadAttacks } from './attacks/load.ts'
import { logoutChannelAttacks } from './attacks/logout-channels.ts'
import { mailAttacks } from './attacks/mail.ts'
import { metadataDocumentAttacks } from './attacks/metadata-documents.ts'
import { mutualTlsAttacks } from './attacks/mutual-tls.ts'
import { oauth2Attacks } from './attacks/oauth2.ts'
import { operationsAttacks } from './attacks/operations.ts'
import { outboundAttacks } from './attacks/outbound.ts'
import { overloadAttacks } from './attacks/overload.ts'
import { resourceAttacks } from './attacks/resources.ts'
import { registrationAttacks } from './attacks/registration.ts'
import { requestAttacks } from './attacks/requests.ts'
import { samlBearerAttacks } from './attacks/saml-bearer.ts'
import { samlLogoutAttacks } from './attacks/saml-logout.ts'
import { samlAttacks } from './attacks/saml.ts'
import { samlBrowserAttacks } from './attacks/saml-browsers.ts'
import { samlProviderAttacks } from './attacks/saml-providers.ts'
import { scimAttacks } from './attacks/scim.ts'
import { secondFactorAttacks } from './attacks/second-factor.ts'
import { secondFactorPolicyAttacks } from './attacks/second-factor-policies.ts'
import { secondFactorProofAttacks } from './attacks/second-factor-proofs.ts'
import { senderKeyAttacks } from './attacks/sender-keys.ts'
import { senderConstraintAttacks } from './attacks/sender-constraints.ts'
import { sessionAttacks } from './attacks/sessions.ts'
import { severalServersAttacks } from './attacks/several-servers.ts'
import { signUpAttacks } from './attacks/sign-up.ts'
import { stolenSessionAttacks } from './attacks/stolen-sessions.ts'
import { selfRegisteredClientAttacks } from './attacks/self-registered-clients.ts'
import { tenantAttacks } from './attacks/tenants.ts'
import { tokenExchangeAttacks } from './attacks/token-exchange.ts'
import { tokenAttacks } from './attacks/tokens.ts'
import { upstreamLogoutAttacks } from './attacks/upstream-logout.ts'
import { upstreamAttacks } from './attacks/upstream.ts'
import { userAttacks } from './attacks/users.ts'

const SUBJECTS: Readonly<Record<string, readonly Attack[]>> = {
  'taking over an account': identityAttacks,
  'providers of OAuth 2.0': oauth2Attacks,
  'answers of other providers': upstreamAttacks,
  'SAML messages': samlAttacks,
  'logout with other providers': upstreamLogoutAttacks,
  'telling applications of a logout': logoutChannelAttacks,
  'SAML assertions at the token endpoint': samlBearerAttacks,
  'SAML providers and their administrators': samlProviderAttacks,
  'SAML sign-in through a victim’s browser': samlBrowserAttacks,
  'single logout by SAML': samlLogoutAttacks,
  'vouching for others': externalLoginAttacks,
  'directories and their people': directoryAttacks,
  'reaching the inside network': outboundAttacks,
  'keeping others out': loadAttacks,
  'more than the machine can do': overloadAttacks,
  'limits of several servers': severalServersAttacks,
  'authorization requests': authorizationAttacks,
  'requests that are signed or pushed': requestAttacks,
  'tokens and clients': tokenAttacks,
  'exchanged tokens': tokenExchangeAttacks,
  'devices without a browser': deviceAttacks,
  'tokens that are bound to a key': senderKeyAttacks,
  'certificates of clients': mutualTlsAttacks,
  'tokens that are bound to their sender': senderConstraintAttacks,
  'tokens for one API': resourceAttacks,
  'clients that register themselves': registrationAttacks,
  'what is not for clients that register themselves': selfRegisteredClientAttacks,
  'clients described by documents': metadataDocumentAttacks,
  'accounts of people': accountAttacks,
  approvals: approvalAttacks,
  invitations: invitationAttacks,
  groups: groupAttacks,
  'sessions, cookies and forms': sessionAttacks,
  'sessions of others': stolenSessionAttacks,
  'around the second factor': secondFactorAttacks,
  'false proofs of a second factor': secondFactorProofAttacks,
  'policies of second factors, programs and administrators': secondFactorPolicyAttacks,
  'sign-up and e-mail addresses': signUpAttacks,
  'tenants and administrators': tenantAttacks,
  'users managed by API': userAttacks,
  'SCIM 2.0': scimAttacks,
  mails: mailAttacks,
  'the audit trail': auditAttacks,
  'the machine: clocks, disks, starts': operationsAttacks,
}

for (const [subject, attacks] of Object.entries(SUBJECTS)) {
  describe(`Attacks: ${subject}`, () => {
    for (const { attack, outcome, attempt } of attacks) it(`${attack}: ${outcome}`, attempt)
  })
}
