/** The accounts that most tests use: a confidential, a public and a service client, a user with and one without groups. */
export const defaultBootstrap = {
  groups: [
    { displayName: 'cloud.read', description: 'Read the cloud' },
    { displayName: 'cloud.write', description: 'Change the cloud' },
  ],
  clients: [
    {
      client_id: 'app',
      client_secret: 'app-secret',
      name: 'The application',
      authorized_grant_types: ['authorization_code', 'refresh_token', 'password'],
      scope: ['openid', 'profile', 'email', 'cloud.read', 'cloud.write'],
      redirect_uri: ['https://app.example/cb'],
      post_logout_redirect_uris: ['https://app.example/bye'],
    },
    {
      client_id: 'auto',
      client_secret: 'auto-secret',
      authorized_grant_types: ['authorization_code', 'refresh_token', 'password'],
      scope: ['openid', 'profile', 'cloud.read'],
      redirect_uri: ['https://auto.example/cb', 'http://127.0.0.1/cb'],
      autoapprove: true,
    },
    {
      client_id: 'spa',
      allowpublic: true,
      authorized_grant_types: ['authorization_code', 'refresh_token'],
      scope: ['openid', 'cloud.read'],
      redirect_uri: ['https://spa.example/cb'],
      autoapprove: true,
    },
    {
      client_id: 'service',
      client_secret: 'service-secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['jobs.run', 'jobs.read'],
    },
    {
      client_id: 'resource',
      client_secret: 'resource-secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['svc.resource'],
    },
  ],
  users: [
    {
      userName: 'marissa',
      password: 'koala',
      emails: [{ value: 'marissa@example.org' }],
      name: { givenName: 'Marissa', familyName: 'Bloggs' },
      groups: ['cloud.read'],
    },
    { userName: 'joel', password: 'wombat', emails: [{ value: 'joel@example.org' }] },
  ],
}
