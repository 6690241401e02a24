// New passwords by a login server.
import type { Area } from '../description.ts'
import { closed, described, json, mayBe, open, sent, statusAlone, text } from '../description.ts'

/** `/password_resets` and `/password_change`. */
export function passwordsArea(): Area {
  return {
    name: 'Forgotten passwords',
    about: 'For login servers, which send the mail themselves.',
    operations: {
      'POST /password_resets': {
        summary: 'Create a code that sets a new password',
        about: 'Valid for 30 minutes. Invalidates earlier codes of the account.',
        query: {
          client_id: mayBe('The client that the sign-in code is for; default: the caller.'),
          redirect_uri: mayBe('URL to continue with.'),
        },
        bare: { about: 'The user name, without quotes.', example: 'ann@example.org' },
        answers: {
          201: json('The code.', closed({ code: text, user_id: text })),
          400: statusAlone('The name is missing.'),
          403: 'Self-service for internal accounts is disabled.',
          404: statusAlone('There is no user with this name.'),
          409: json('The password is managed by another provider.', closed({ user_id: text })),
        },
      },
      'POST /password_change': {
        summary: 'Set a new password with a code',
        about: 'Consumes the code, even if the password is refused.',
        json: {
          schema: sent(open({ code: text, new_password: text }, ['code', 'new_password'])),
          example: { code: 'JhH5OCoJOtp4yJwCE2N8kAeOHVn4x2UE', new_password: 'seven-chairs-in-the-rain' },
        },
        answers: {
          200: json(
            'The account.',
            closed({
              code: described(text, 'Signs the user in at /autologin, or as `code` of /oauth/authorize; five minutes.'),
              user_id: text,
              username: text,
              email: text,
            }),
          ),
          400: { about: 'The code is missing, or a member is malformed.', statusAlone: true },
          403: 'Self-service for internal accounts is disabled.',
          415: 'The body is not JSON.',
          422: 'The code is invalid, or the password is not allowed.',
        },
      },
    },
  }
}
