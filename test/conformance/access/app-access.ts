/**
 * Who may come where in the application's API: one line per route and method (its form is told in `access-table.ts`).
 * Strangers and members of databases are users without a role of the application.
 */

// biome-ignore format: a table is read line by line
export const APP_ACCESS = `
#                                                                   anonymous, stranger, member, database admin, server admin
GET     /api/info                                                   in   in   in   in   in
GET     /api/v1/settings                                            401  in   in   in   in
PUT     /api/v1/settings                                            401  403  403  403  in
GET     /api/v1/settings/deprecated-transitions                     401  in   in   in   in
GET     /svc/_design/svc/_rewrite/app_settings/svc                  401  in   in   in   in
GET     /svc/_design/svc/_rewrite/app_settings/svc/{path...}        401  in   in   in   in
PUT     /svc/_design/svc/_rewrite/update_settings/svc               401  403  403  403  in
GET     /api/v1/contact                                             401  403  403  403  in
GET     /api/v1/contact/uuid                                        401  403  403  403  in
POST    /api/v1/contact/summary                                     401  403  403  403  in
GET     /api/v1/contact/{uuid}                                      401  403  403  403  in
GET     /api/v1/person                                              401  403  403  403  in
POST    /api/v1/person                                              401  403  403  403  in
GET     /api/v1/person/{uuid}                                       401  403  403  403  in
PUT     /api/v1/person/{uuid}                                       401  403  403  403  in
POST    /api/v1/people                                              401  403  403  403  in
GET     /api/v1/place                                               401  403  403  403  in
POST    /api/v1/place                                               401  403  403  403  in
GET     /api/v1/place/{uuid}                                        401  403  403  403  in
PUT     /api/v1/place/{uuid}                                        401  403  403  403  in
POST    /api/v1/places                                              401  403  403  403  in
POST    /api/v1/places/{id}                                         401  403  403  403  in
GET     /api/v1/report                                              401  403  403  403  in
POST    /api/v1/report                                              401  403  403  403  in
GET     /api/v1/report/uuid                                         401  403  403  403  in
POST    /api/v1/report/summary                                      401  403  403  403  in
GET     /api/v1/report/{uuid}                                       401  403  403  403  in
PUT     /api/v1/report/{uuid}                                       401  403  403  403  in
POST    /api/v1/bulk-delete                                         401  403  403  403  in
GET     /api/v1/hydrate                                             401  403  403  403  in
POST    /api/v1/hydrate                                             401  403  403  403  in
GET     /api/v1/contacts-by-phone                                   401  403  403  403  in
POST    /api/v1/contacts-by-phone                                   401  403  403  403  in
GET     /api/v1/users                                               401  403  403  403  in
POST    /api/v1/users                                               401  403  403  403  in
GET     /api/v2/users                                               401  403  403  403  in
POST    /api/v2/users                                               401  403  403  403  in
POST    /api/v3/users                                               401  403  403  403  in
POST    /api/v1/users/{username}                                    401  in   in   in   in
DELETE  /api/v1/users/{username}                                    401  403  403  403  in
GET     /api/v2/users/{username}                                    401  403  403  403  in
POST    /api/v3/users/{username}                                    401  in   in   in   in
GET     /api/v1/users-info                                          401  in   in   in   in
GET     /api/v1/users-doc-count                                     401  403  403  403  in
GET     /api/v1/replication/get-ids                                 401  in   in   in   in
POST    /api/v1/replication/get-deletes                             401  in   in   in   in
PUT     /{personal}                                                 401  401  401  401  in
POST    /svc/login                                                  in   in   in   in   in
POST    /svc/login/token                                            in   in   in   in   in
POST    /svc/login/token/{token}                                    in   in   in   in   in
GET     /svc/login/identity                                         401  in   in   in   in
POST    /svc/password-reset                                         in   in   in   in   in
`
