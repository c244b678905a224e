//! All routes, and their description. A route and its description are registered together, so that neither lacks what the
//! other has.
use super::error::{ApiError, ErrorBody};
use super::hosts::Hosts;
use super::{
    Admin, configuration, context, events, guard, hooks, messages, page, probes, proposals, requests, reviews, sessions,
};
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::{Json, Router};
use std::sync::Arc;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi, openapi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Largest body in bytes: a text of the default `limits.outcome_text` with a lot of escapes.
pub(super) const MAX_BODY: usize = 1024 * 1024;

/// The name of the security scheme in the description.
const BEARER: &str = "bearer";

#[derive(OpenApi)]
#[openapi(
    info(title = "hookgate admin API", description = "Sessions of a running gateway, and the state of the gateway itself."),
    modifiers(&Bearer),
    security(("bearer" = []))
)]
struct Description;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, description: &mut openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        description.components.get_or_insert_default().add_security_scheme(BEARER, scheme);
    }
}

/// Whoever asks: these say nothing about anybody.
fn open() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::default().routes(routes!(probes::healthz)).routes(routes!(probes::readyz))
}

/// Whoever brings the token.
fn protected() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::default()
        .routes(routes!(probes::metrics))
        .routes(routes!(describe))
        .routes(routes!(configuration::show_config))
        .routes(routes!(configuration::reload_config))
        .routes(routes!(hooks::list_hooks))
        .routes(routes!(events::watch_events))
        .routes(routes!(sessions::list_sessions))
        .routes(routes!(sessions::show_session))
        .routes(routes!(sessions::show_agent, sessions::delete_agent))
        .routes(routes!(sessions::end_agent))
        .routes(routes!(requests::list_requests))
        .routes(routes!(requests::show_request))
        .routes(routes!(context::set_context, context::clear_context))
        .routes(routes!(messages::send_message, messages::list_messages))
        .routes(routes!(messages::set_label, messages::clear_label))
        .routes(routes!(proposals::list_proposals, proposals::add_proposal))
        .routes(routes!(proposals::show_proposal))
        .routes(routes!(proposals::find_knowledge))
}

/// Whoever may decide what models are told, for which there can be a token of its own.
fn reviewed() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::default()
        .routes(routes!(reviews::edit_proposal))
        .routes(routes!(reviews::approve_proposal))
        .routes(routes!(reviews::reject_proposal))
}

/// The admin API. The guards stand in the order in which a request meets them, from the bottom up.
pub(super) fn service(admin: Arc<Admin>) -> Router {
    let reviewed = Router::from(reviewed()).route_layer(from_fn_with_state(admin.clone(), guard::reviewer));
    let protected = Router::from(protected())
        .merge(reviewed)
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(from_fn_with_state(admin.clone(), guard::to_the_end))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn(guard::json))
        // Around the fallbacks too: without the token a path that does not exist is refused like one that does.
        .layer(from_fn_with_state(admin.clone(), guard::authorized));
    Router::from(open())
        .merge(page::page())
        .method_not_allowed_fallback(no_method)
        .merge(protected)
        .layer(from_fn_with_state(Arc::new(Hosts::of(admin.addr)), guard::own))
        .layer(map_response(guard::private))
        .with_state(admin)
}

/// This description
#[utoipa::path(get, path = "/openapi.json", tag = "gateway", responses(
    (status = 200, description = "OpenAPI 3.1", content_type = "application/json"),
    (status = "default", description = "Why not", body = ErrorBody)))]
async fn describe() -> Json<openapi::OpenApi> {
    let described = OpenApiRouter::<Arc<Admin>>::with_openapi(Description::openapi());
    Json(described.merge(open()).merge(protected()).merge(reviewed()).into_openapi())
}

async fn no_route() -> ApiError {
    ApiError::NoRoute
}

async fn no_method() -> ApiError {
    ApiError::NoMethod
}
