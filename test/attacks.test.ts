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
  'account takeover': identityAttacks,
  'OAuth 2.0 providers': oauth2Attacks,
  'responses of upstream providers': upstreamAttacks,
  'SAML messages': samlAttacks,
  'upstream logout': upstreamLogoutAttacks,
  'logout notifications to applications': logoutChannelAttacks,
  'SAML assertions at the token endpoint': samlBearerAttacks,
  'SAML providers and their administrators': samlProviderAttacks,
  'SAML sign-in in a victim’s browser': samlBrowserAttacks,
  'SAML single logout': samlLogoutAttacks,
  'login servers': externalLoginAttacks,
  'LDAP directories and their users': directoryAttacks,
  'server-side request forgery': outboundAttacks,
  'denial of service': loadAttacks,
  overload: overloadAttacks,
  'rate limits across servers': severalServersAttacks,
  'authorization requests': authorizationAttacks,
  'signed and pushed authorization requests': requestAttacks,
  'tokens and clients': tokenAttacks,
  'exchanged tokens': tokenExchangeAttacks,
  'device authorization': deviceAttacks,
  'DPoP-bound tokens': senderKeyAttacks,
  'mutual TLS': mutualTlsAttacks,
  'sender-constrained tokens': senderConstraintAttacks,
  'resource indicators': resourceAttacks,
  'dynamic client registration': registrationAttacks,
  'restrictions of self-registered clients': selfRegisteredClientAttacks,
  'client metadata documents': metadataDocumentAttacks,
  'user accounts': accountAttacks,
  approvals: approvalAttacks,
  invitations: invitationAttacks,
  groups: groupAttacks,
  'sessions, cookies and forms': sessionAttacks,
  'stolen sessions': stolenSessionAttacks,
  'bypassing the second factor': secondFactorAttacks,
  'forged proofs of a second factor': secondFactorProofAttacks,
  'second-factor policies, API clients and administrators': secondFactorPolicyAttacks,
  'sign-up and email addresses': signUpAttacks,
  'tenants and administrators': tenantAttacks,
  'user management API': userAttacks,
  'SCIM 2.0': scimAttacks,
  mail: mailAttacks,
  'the audit trail': auditAttacks,
  'operation: clocks, proxies, connections': operationsAttacks,
}

for (const [subject, attacks] of Object.entries(SUBJECTS)) {
  describe(`Attacks: ${subject}`, () => {
    for (const { attack, outcome, attempt } of attacks) it(`${attack}: ${outcome}`, attempt)
  })
}
